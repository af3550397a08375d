// SPDX-License-Identifier: Apache-2.0
#include "python/src/operand.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "python/src/tensor.h"

namespace py = pybind11;

namespace collage::python {
namespace {

std::string needed(const Port& port) {
  return "input `" + port.name + "`: need " + to_string(*port.element, port.shape) + ", not ";
}

[[noreturn]] void refuse_shape(const Port& port, const std::string& given) {
  throw py::value_error(needed(port) + "the shape " + given);
}

template <typename Number>
std::string text_of(const Number* shape, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

template <typename Number>
void check_shape(const Port& port, const Number* shape, size_t rank) {
  bool is_right = rank == port.shape.size();
  for (size_t i = 0; is_right && i < rank; ++i) is_right = shape[i] == port.shape[i];
  if (!is_right) refuse_shape(port, text_of(shape, rank));
}

// --- NumPy ---

/// bf16 and other types that NumPy lacks come as their bits, or as the types that ml_dtypes adds.
bool has_elements_of(const py::dtype& dtype, const Port& port) {
  if (dtype.is(port.numpy) || dtype.equal(port.numpy)) return true;
  return port.element->extension[0] != '\0' &&
         py::str(dtype.attr("name")).cast<std::string>() == port.element->extension;
}

[[noreturn]] void refuse_elements(const Port& port, const py::dtype& dtype) {
  throw py::type_error(needed(port) + "elements of " + py::str(static_cast<py::object>(dtype)).cast<std::string>());
}

Operand operand_of_array(const py::array& array, const Port& port) {
  const py::dtype dtype = array.dtype();
  if (!has_elements_of(dtype, port)) refuse_elements(port, dtype);
  check_shape(port, array.shape(), static_cast<size_t>(array.ndim()));
  if ((array.flags() & py::array::c_style) != 0) return {array.data(), array};
  const py::array dense = py::array::ensure(array, py::array::c_style);
  if (!dense) throw py::error_already_set();
  return {dense.data(), dense};
}

bool is_masked(py::handle array) {
  const py::module_ numpy = py::module_::import("numpy");
  if (py::type::handle_of(array).is(numpy.attr("ndarray"))) return false;
  return py::isinstance(array, numpy.attr("ma").attr("MaskedArray"));
}

// --- Numbers, and lists of them ---

/// 0 for types that are no integers.
int integer_bits(const Element& element) {
  return element.name[0] == 'i' || element.name[0] == 'u' ? std::atoi(element.name + 1) : 0;
}

bool holds_integers(const Element& element, const py::array& integers) {
  const int bits = integer_bits(element);
  const bool is_signed = element.name[0] == 'i';
  const uint64_t highest = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
  const py::object most = integers.attr("max")();
  if (integers.dtype().kind() == 'u') return py::int_(most).cast<uint64_t>() <= highest;
  const int64_t lowest = is_signed ? -static_cast<int64_t>(highest) - 1 : 0;
  const auto largest = py::int_(most).cast<int64_t>();
  return py::int_(integers.attr("min")()).cast<int64_t>() >= lowest &&
         (largest < 0 || static_cast<uint64_t>(largest) <= highest);
}

/// False where a finite number would become infinite.
bool holds_floats(const Port& port, const py::array& numbers) {
  const py::module_ numpy = py::module_::import("numpy");
  const py::object is_more =
      numpy.attr("greater")(numpy.attr("abs")(numbers), numpy.attr("finfo")(port.numpy).attr("max"));
  const py::object is_lost = numpy.attr("logical_and")(is_more, numpy.attr("isfinite")(numbers));
  return !numpy.attr("any")(is_lost).cast<bool>();
}

[[noreturn]] void refuse_number(const Port& port) {
  throw py::value_error("input `" + port.name + "`: a number is too large or too small for " + port.element->name);
}

bool is_integer_object(py::handle object) {
  const py::module_ numpy = py::module_::import("numpy");
  if (PyBool_Check(object.ptr()) || py::isinstance(object, numpy.attr("bool_"))) return false;
  return PyLong_Check(object.ptr()) || py::isinstance(object, numpy.attr("integer"));
}

bool holds_integer(const Element& element, py::handle object) {
  const int bits = integer_bits(element);
  const bool is_signed = element.name[0] == 'i';
  const py::int_ one(1), number(py::reinterpret_borrow<py::object>(object));
  const py::object end = one << py::int_(bits - (is_signed ? 1 : 0));
  return number < end && number >= (is_signed ? -end : py::object(py::int_(0)));
}

/// NumPy makes floats of integers that none of its own types holds together, as of [1, 2**63]: the integers themselves.
/// None where one of the numbers is no integer.
std::optional<py::array> as_integers(py::handle value, const Port& port) {
  const py::object asarray = py::module_::import("numpy").attr("asarray");
  const py::object objects = asarray(value, py::arg("dtype") = "object");
  for (const py::handle object : objects.attr("ravel")()) {
    if (!is_integer_object(object)) return std::nullopt;
    if (!holds_integer(*port.element, object)) refuse_number(port);
  }
  return py::array(asarray(objects, port.numpy));
}

Operand operand_of_numbers(py::handle value, const Port& port) {
  const py::object asarray = py::module_::import("numpy").attr("asarray");
  py::array given = asarray(value);
  const Element& element = *port.element;
  const bool is_bool = element.dlpack.code == kDLBool, is_integer = integer_bits(element) > 0;
  if (!is_bool && !is_integer && element.extension[0] != '\0') {
    throw py::type_error(needed(port) + "numbers: give an array of the bits as " + element.numpy + ", of " +
                         element.extension + ", or a tensor with `__dlpack__`");
  }
  if (is_integer && given.size() > 0 && given.dtype().kind() == 'f') {
    if (std::optional<py::array> integers = as_integers(value, port)) given = std::move(*integers);
  }
  const char kind = given.dtype().kind();
  const bool are_integers = kind == 'i' || kind == 'u', are_floats = kind == 'f';
  if (given.size() > 0 || !are_floats) {  // NumPy takes an empty list for floats
    if (is_bool ? kind != 'b' : !are_integers && (is_integer || !are_floats)) refuse_elements(port, given.dtype());
  }
  check_shape(port, given.shape(), static_cast<size_t>(given.ndim()));
  if (given.size() > 0 && !is_bool && !(is_integer ? holds_integers(element, given) : holds_floats(port, given))) {
    refuse_number(port);
  }
  return operand_of_array(asarray(given, port.numpy), port);
}

// --- DLPack ---

bool is_same(const DLDataType& a, const DLDataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// Some libraries give bools as bytes, and types that DLPack lacks as their bits.
bool has_elements_of(const DLTensor& tensor, const Port& port) {
  if (is_same(tensor.dtype, port.element->dlpack)) return true;
  const auto bits = static_cast<uint8_t>(8 * port.element->bytes);
  const bool is_opaque = port.element->dlpack.code == kDLBool || port.element->extension[0] != '\0';
  return is_opaque && is_same(tensor.dtype, {kDLUInt, bits, 1});
}

bool is_dense(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Copies the elements from dimension `dim` on to `to`, which it moves past them.
void copy_dense(const DLTensor& tensor, int32_t dim, const std::byte* from, size_t bytes, std::byte*& to) {
  if (dim == tensor.ndim) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  const int64_t step = tensor.strides[dim] * static_cast<int64_t>(bytes);
  for (int64_t i = 0; i < tensor.shape[dim]; ++i) copy_dense(tensor, dim + 1, from + i * step, bytes, to);
}

Operand operand_of_capsule(const py::object& capsule, const Port& port) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) {
    throw py::type_error("input `" + port.name + "`: `__dlpack__` gives no capsule named \"dltensor\"");
  }
  // The capsule stays as it is: its producer frees the tensor with it.
  const DLTensor& tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->dl_tensor;
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    throw py::value_error("input `" + port.name + "`: the tensor is not in the memory of the host");
  }
  if (!has_elements_of(tensor, port)) {
    throw py::type_error(needed(port) + "elements of DLPack's type " + std::to_string(tensor.dtype.code) + " with " +
                         std::to_string(tensor.dtype.bits) + " bits");
  }
  check_shape(port, tensor.shape, static_cast<size_t>(tensor.ndim));
  if (port.bytes == 0) return {nullptr, capsule};
  if (tensor.data == nullptr) throw py::value_error("input `" + port.name + "`: the tensor has no memory");
  const std::byte* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (is_dense(tensor)) return {data, capsule};
  const Memory copy = allocate(port.bytes);
  std::byte* to = copy.get();
  copy_dense(tensor, 0, data, port.element->bytes, to);
  return {copy.get(), py::capsule(new Memory(copy), [](void* memory) { delete static_cast<Memory*>(memory); })};
}

// --- Inputs of any shape ---

/// Numbers and lists of them have no element type of their own; NumPy's scalars, arrays of other libraries and buffers
/// have one.
bool has_own_type(py::handle value) {
  return py::hasattr(value, "dtype") || py::hasattr(value, "__array__") || PyObject_CheckBuffer(value.ptr());
}

const Element* element_of_array(const py::dtype& dtype) {
  const auto name = py::str(dtype.attr("name")).cast<std::string>();
  for (const Element& element : all_elements()) {
    if (name == (element.extension[0] != '\0' ? element.extension : element.numpy)) return &element;
  }
  return nullptr;
}

const Element* element_of_tensor(const DLDataType& type) {
  for (const Element& element : all_elements()) {
    const bool is_own = element.extension[0] == '\0' || element.dlpack.code == kDLBfloat;
    if (is_own && is_same(element.dlpack, type)) return &element;
  }
  return nullptr;
}

Port port_of_shape(const std::string& name, const Element& element, std::vector<int64_t> shape) {
  size_t bytes = element.bytes;
  for (const int64_t dim : shape) bytes *= static_cast<size_t>(dim);
  return {name, &element, std::move(shape), bytes, py::dtype(element.numpy)};
}

}  // namespace

Port port_for(py::handle value, const std::string& name, const Element* element) {
  const auto found = [&](const Element* own) -> const Element& {
    if (element != nullptr) return *element;
    if (own == nullptr) throw py::type_error("input `" + name + "`: there is no such element type");
    return *own;
  };
  if (!py::isinstance<py::array>(value) && py::hasattr(value, "__dlpack__")) {
    const py::object capsule = value.attr("__dlpack__")();
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) {
      throw py::type_error("input `" + name + "`: `__dlpack__` gives no capsule named \"dltensor\"");
    }
    const DLTensor& tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->dl_tensor;
    return port_of_shape(name, found(element_of_tensor(tensor.dtype)), {tensor.shape, tensor.shape + tensor.ndim});
  }
  if (element == nullptr && !has_own_type(value)) {
    throw py::type_error("input `" + name +
                         "`: give an array: numbers have no element type, and that of the model is not "
                         "known before it is specialised");
  }
  const py::array array = py::module_::import("numpy").attr("asarray")(value);
  return port_of_shape(name, found(element_of_array(array.dtype())), {array.shape(), array.shape() + array.ndim()});
}

Operand operand_of(py::handle value, const Port& port) {
  if (py::isinstance<py::array>(value)) {
    if (is_masked(value)) throw py::type_error(needed(port) + "a masked array: the mask would be lost");
    return operand_of_array(py::reinterpret_borrow<py::array>(value), port);
  }
  if (py::hasattr(value, "__dlpack__")) return operand_of_capsule(value.attr("__dlpack__")(), port);
  if (!has_own_type(value)) return operand_of_numbers(value, port);
  return operand_of_array(py::module_::import("numpy").attr("asarray")(value), port);
}

}  // namespace collage::python
