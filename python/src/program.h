// SPDX-License-Identifier: Apache-2.0
// An executable with sessions for as many threads as call it at once.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "include/collage/collage.hpp"
#include "python/src/operand.h"
#include "python/src/tensor.h"

namespace collage::python {

/// Functions may be called by several threads at once, with the GIL held; runs release it.
class Program {
 public:
  /// `threads`: of the host; 0: as many as it was compiled for.
  explicit Program(collage::Executable executable, int threads);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const collage::Executable& executable() const { return executable_; }

  /// The inputs in their order, by place and then by name. Throws TypeError where one is missing, given twice or unknown.
  std::vector<Operand> operands(const pybind11::tuple& by_place, const pybind11::dict& by_name) const;
  /// One run.
  std::vector<Tensor> run(const pybind11::tuple& by_place, const pybind11::dict& by_name);

 private:
  std::unique_ptr<collage::Session> take_session();

  collage::Executable executable_;
  int threads_;
  std::vector<Port> inputs_, outputs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<collage::Session>> idle_;  ///< as many as ran at once
};

}  // namespace collage::python
