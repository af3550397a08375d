// SPDX-License-Identifier: Apache-2.0
// A model that is specialised while it runs.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "include/collage/collage.hpp"
#include "python/src/tensor.h"
#include "python/src/watched_compiler.h"

namespace collage::python {

/// Used by one thread at a time, together with its compiler, with the GIL held; runs release it.
class DynamicProgram {
 public:
  DynamicProgram(const WatchedCompiler& compiler, const std::string& path, size_t kept);

  /// Names, as UTF-8.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// One run. Where it compiles, handlers of signals run meanwhile.
  std::vector<Tensor> run(const pybind11::tuple& by_place, const pybind11::dict& by_name);
  /// Specialisations made so far.
  size_t made() const { return session_->made(); }
  /// Names of the results of the last run, as UTF-8.
  std::vector<std::string> result_names() const;

 private:
  WatchedCompiler compiler_;
  std::optional<collage::DynamicSession> session_;  ///< always there
  std::vector<std::string> inputs_;
};

}  // namespace collage::python
