// SPDX-License-Identifier: Apache-2.0
#include "python/src/dynamic_program.h"

#include "python/src/program.h"
#include "python/src/text.h"

namespace py = pybind11;

namespace collage::python {
namespace {

std::vector<std::string> decoded_names(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(decoded(name).cast<std::string>());
  return all;
}

}  // namespace

DynamicProgram::DynamicProgram(const collage::Compiler& compiler, const std::string& path, size_t kept) {
  {
    const py::gil_scoped_release released;
    session_.emplace(compiler, path, kept);
  }
  inputs_ = decoded_names(session_->inputs());
}

std::vector<std::string> DynamicProgram::result_names() const {
  return decoded_names(session_->result_names());
}

std::vector<Tensor> DynamicProgram::run(const py::tuple& by_place, const py::dict& by_name) {
  const std::vector<py::object> values = values_of(inputs_, by_place, by_name);
  Arrays given;
  for (size_t i = 0; i < values.size(); ++i) given.add(values[i], port_for(values[i], inputs_[i], nullptr));
  const std::vector<collage::Array> arrays = given.arrays();
  const py::gil_scoped_release released;
  return tensors_of(session_->run(arrays));
}

}  // namespace collage::python
