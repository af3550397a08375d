// SPDX-License-Identifier: Apache-2.0
#include "python/src/program.h"

#include <algorithm>
#include <cstring>

#include "python/src/text.h"

namespace py = pybind11;

namespace collage::python {
namespace {

Port port_of(const collage_port& port) {
  const Element& element = element_of(port.dtype);
  return {decoded(port.name).cast<std::string>(),
          &element,
          {port.shape, port.shape + port.rank},
          port.bytes,
          py::dtype(element.numpy)};
}

/// Sessions of which each serves one run at a time: an idle one, or one that `make` opens.
template <typename Session, typename Make>
std::unique_ptr<Session> take(std::vector<std::unique_ptr<Session>>& idle, std::mutex& mutex, const Make& make) {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Session> session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  return make();
}

}  // namespace

std::vector<py::object> values_of(const std::vector<std::string>& names, const py::tuple& by_place,
                                  const py::dict& by_name) {
  if (by_place.size() > names.size()) {
    throw py::type_error(std::to_string(by_place.size()) + " inputs are given, the program has " +
                         std::to_string(names.size()));
  }
  std::vector<py::object> values;
  for (const py::handle value : by_place) values.push_back(py::reinterpret_borrow<py::object>(value));
  size_t named = 0;
  for (size_t i = values.size(); i < names.size(); ++i, ++named) {
    const py::str name(names[i]);
    if (!by_name.contains(name)) throw py::type_error("input `" + names[i] + "` is missing");
    values.push_back(by_name[name]);
  }
  if (named == by_name.size()) return values;
  for (const auto& [key, value] : by_name) {
    const auto name = py::str(key).cast<std::string>();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw py::type_error("the program has no input `" + name + "`");
    if (found < names.begin() + static_cast<std::ptrdiff_t>(by_place.size())) {
      throw py::type_error("input `" + name + "` is given twice");
    }
  }
  return values;
}

void Arrays::add(const py::object& value, Port port) {
  operands_.push_back(operand_of(value, port));
  ports_.push_back(std::move(port));
}

std::vector<collage::Array> Arrays::arrays() const {
  std::vector<collage::Array> arrays;
  for (size_t i = 0; i < ports_.size(); ++i) {
    arrays.push_back({ports_[i].element->dtype, static_cast<int32_t>(ports_[i].shape.size()), ports_[i].shape.data(),
                      operands_[i].data});
  }
  return arrays;
}

std::vector<Tensor> tensors_of(const std::vector<collage::Array>& arrays) {
  std::vector<Tensor> tensors;
  for (const collage::Array& array : arrays) {
    const Element& element = element_of(array.dtype);
    std::vector<int64_t> shape(array.shape, array.shape + array.rank);
    size_t bytes = element.bytes;
    for (const int64_t dim : shape) bytes *= static_cast<size_t>(dim);
    Memory memory = allocate(bytes);
    if (bytes > 0) std::memcpy(memory.get(), array.data, bytes);
    tensors.emplace_back(element, std::move(shape), std::move(memory));
  }
  return tensors;
}

Program::Program(collage::Executable executable, int threads)
    : executable_(std::move(executable)), threads_(threads), is_shaped_(!executable_.shape_name(0).empty()) {
  for (size_t i = 0; i < executable_.input_count(); ++i) inputs_.push_back(port_of(executable_.input(i)));
  for (size_t i = 0; i < executable_.output_count(); ++i) outputs_.push_back(port_of(executable_.output(i)));
}

std::vector<std::string> Program::shapes() const {
  std::vector<std::string> names;
  const size_t count = executable_.shape_count();
  for (size_t i = 0; is_shaped_ && i < count; ++i) names.push_back(executable_.shape_name(i));
  return names;
}

std::vector<Operand> Program::operands(const py::tuple& by_place, const py::dict& by_name) const {
  std::vector<std::string> names;
  for (const Port& port : inputs_) names.push_back(port.name);
  const std::vector<py::object> values = values_of(names, by_place, by_name);
  std::vector<Operand> operands;
  operands.reserve(inputs_.size());
  for (size_t i = 0; i < values.size(); ++i) operands.push_back(operand_of(values[i], inputs_[i]));
  return operands;
}

std::unique_ptr<collage::Session> Program::take_session() {
  return take(idle_, mutex_, [&] { return std::make_unique<collage::Session>(executable_, threads_); });
}

std::unique_ptr<collage::ShapedSession> Program::take_shaped_session() {
  return take(idle_shaped_, mutex_, [&] { return std::make_unique<collage::ShapedSession>(executable_, threads_); });
}

Arrays Program::arrays(const py::tuple& by_place, const py::dict& by_name) const {
  std::vector<std::string> names;
  for (const Port& port : inputs_) names.push_back(port.name);
  const std::vector<py::object> values = values_of(names, by_place, by_name);
  Arrays given;
  for (size_t i = 0; i < values.size(); ++i) given.add(values[i], port_for(values[i], names[i], inputs_[i].element));
  return given;
}

std::vector<Tensor> Program::run_shaped(const py::tuple& by_place, const py::dict& by_name) {
  const Arrays given = this->arrays(by_place, by_name);
  const std::vector<collage::Array> arrays = given.arrays();
  const py::gil_scoped_release released;
  std::unique_ptr<collage::ShapedSession> session = take_shaped_session();
  std::vector<Tensor> results = tensors_of(session->run(arrays));
  const std::lock_guard lock(mutex_);
  idle_shaped_.push_back(std::move(session));
  return results;
}

std::vector<Tensor> Program::run(const py::tuple& by_place, const py::dict& by_name) {
  if (is_shaped_) return run_shaped(by_place, by_name);
  const std::vector<Operand> operands = this->operands(by_place, by_name);
  std::vector<const void*> from;
  for (const Operand& operand : operands) from.push_back(operand.data);
  std::vector<Tensor> results;
  std::vector<void*> to;
  results.reserve(outputs_.size());
  for (const Port& port : outputs_) {
    results.emplace_back(*port.element, port.shape, allocate(port.bytes));
    to.push_back(results.back().memory().get());
  }
  const py::gil_scoped_release released;
  std::unique_ptr<collage::Session> session = take_session();
  session->run(from, to);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(session));
  return results;
}

}  // namespace collage::python
