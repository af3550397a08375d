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

/// The values for inputs of these names, by place and then by name. Throws TypeError where one is missing, given twice
/// or unknown.
std::vector<pybind11::object> values_of(const std::vector<std::string>& names, const pybind11::tuple& by_place,
                                        const pybind11::dict& by_name);

/// Inputs of any shape as a session takes them.
class Arrays {
 public:
  /// `port`: as port_for gives it for the value.
  void add(const pybind11::object& value, Port port);
  std::vector<collage::Array> arrays() const;

 private:
  std::vector<Port> ports_;
  std::vector<Operand> operands_;
};

/// Copies of what a session returned, without the GIL.
std::vector<Tensor> tensors_of(const std::vector<collage::Array>& arrays);

/// Functions may be called by several threads at once, with the GIL held; runs release it.
class Program {
 public:
  /// `threads`: of the host; 0: as many as it was compiled for.
  explicit Program(collage::Executable executable, int threads);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const collage::Executable& executable() const { return executable_; }
  /// Names of the specialisations; empty where the model was compiled for one shape.
  std::vector<std::string> shapes() const;

  /// The inputs in their order, by place and then by name. Throws TypeError where one is missing, given twice or
  /// unknown.
  std::vector<Operand> operands(const pybind11::tuple& by_place, const pybind11::dict& by_name) const;
  /// Operands of a program of several shapes: as `operands`, of any shape.
  Arrays arrays(const pybind11::tuple& by_place, const pybind11::dict& by_name) const;
  bool is_shaped() const { return is_shaped_; }
  /// One run.
  std::vector<Tensor> run(const pybind11::tuple& by_place, const pybind11::dict& by_name);

 private:
  std::unique_ptr<collage::Session> take_session();
  std::unique_ptr<collage::ShapedSession> take_shaped_session();
  std::vector<Tensor> run_shaped(const pybind11::tuple& by_place, const pybind11::dict& by_name);

  collage::Executable executable_;
  int threads_;
  bool is_shaped_;  ///< of buckets, even if of one: other sizes may be padded
  std::vector<Port> inputs_, outputs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<collage::Session>> idle_;               ///< as many as ran at once
  std::vector<std::unique_ptr<collage::ShapedSession>> idle_shaped_;  ///< where `is_shaped_`
};

}  // namespace collage::python
