// SPDX-License-Identifier: Apache-2.0
#include "python/src/operand.h"

#include <cstring>

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

Operand operand_of_array(const py::array& array, const Port& port) {
  const py::dtype dtype = array.dtype();
  if (!has_elements_of(dtype, port)) {
    throw py::type_error(needed(port) + "elements of " + py::str(static_cast<py::object>(dtype)).cast<std::string>());
  }
  check_shape(port, array.shape(), static_cast<size_t>(array.ndim()));
  if ((array.flags() & py::array::c_style) != 0) return {array.data(), array};
  const py::array dense = py::array::ensure(array, py::array::c_style);
  if (!dense) throw py::error_already_set();
  return {dense.data(), dense};
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
  // The capsule stays as it is: whoever made it frees the tensor with it.
  const DLTensor& tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->dl_tensor;
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    throw py::value_error("input `" + port.name + "`: the tensor is not in the memory of the host");
  }
  if (!has_elements_of(tensor, port)) {
    throw py::type_error(needed(port) + "elements of DLPack's type " + std::to_string(tensor.dtype.code) + " with " +
                         std::to_string(tensor.dtype.bits) + " bits");
  }
  check_shape(port, tensor.shape, static_cast<size_t>(tensor.ndim));
  const std::byte* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (is_dense(tensor)) return {data, capsule};
  const Memory copy = allocate(port.bytes);
  std::byte* to = copy.get();
  copy_dense(tensor, 0, data, port.element->bytes, to);
  return {copy.get(), py::capsule(new Memory(copy), [](void* memory) { delete static_cast<Memory*>(memory); })};
}

}  // namespace

Operand operand_of(py::handle value, const Port& port) {
  if (py::isinstance<py::array>(value)) return operand_of_array(py::reinterpret_borrow<py::array>(value), port);
  if (py::hasattr(value, "__dlpack__")) return operand_of_capsule(value.attr("__dlpack__")(), port);
  const py::object asarray = py::module_::import("numpy").attr("asarray");
  // Numbers and lists of them have no element type of their own; NumPy's scalars and arrays of other libraries have one.
  const bool has_type = py::hasattr(value, "dtype") || py::hasattr(value, "__array__");
  return operand_of_array(has_type ? asarray(value) : asarray(value, port.numpy), port);
}

}  // namespace collage::python
