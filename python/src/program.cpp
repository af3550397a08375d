// SPDX-License-Identifier: Apache-2.0
#include "python/src/program.h"

#include <algorithm>

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

}  // namespace

Program::Program(collage::Executable executable, int threads) : executable_(std::move(executable)), threads_(threads) {
  for (size_t i = 0; i < executable_.input_count(); ++i) inputs_.push_back(port_of(executable_.input(i)));
  for (size_t i = 0; i < executable_.output_count(); ++i) outputs_.push_back(port_of(executable_.output(i)));
}

std::vector<Operand> Program::operands(const py::tuple& by_place, const py::dict& by_name) const {
  if (by_place.size() > inputs_.size()) {
    throw py::type_error(std::to_string(by_place.size()) + " inputs are given, the program has " +
                         std::to_string(inputs_.size()));
  }
  std::vector<Operand> operands;
  operands.reserve(inputs_.size());
  for (const py::handle value : by_place) operands.push_back(operand_of(value, inputs_[operands.size()]));
  size_t named = 0;
  for (size_t i = operands.size(); i < inputs_.size(); ++i, ++named) {
    const py::str name(inputs_[i].name);
    if (!by_name.contains(name)) throw py::type_error("input `" + inputs_[i].name + "` is missing");
    operands.push_back(operand_of(by_name[name], inputs_[i]));
  }
  if (named == by_name.size()) return operands;
  for (const auto& [key, value] : by_name) {
    const auto name = py::str(key).cast<std::string>();
    const auto found =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const Port& port) { return port.name == name; });
    if (found == inputs_.end()) throw py::type_error("the program has no input `" + name + "`");
    if (found < inputs_.begin() + static_cast<std::ptrdiff_t>(by_place.size())) {
      throw py::type_error("input `" + name + "` is given twice");
    }
  }
  return operands;
}

std::unique_ptr<collage::Session> Program::take_session() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<collage::Session> session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  return std::make_unique<collage::Session>(executable_, threads_);
}

std::vector<Tensor> Program::run(const py::tuple& by_place, const py::dict& by_name) {
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
