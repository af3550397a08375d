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

DynamicProgram::DynamicProgram(const WatchedCompiler& compiler, const std::string& path, size_t kept)
    : compiler_(compiler) {
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
  std::vector<Tensor> results;
  try {
    const WatchedCompiler::SignalScope looks(compiler_);
    const py::gil_scoped_release released;
    results = tensors_of(session_->run(arrays));
  } catch (const collage::Error&) {
    if (PyErr_Occurred() == nullptr) throw;
  }
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return results;
}

}  // namespace collage::python
