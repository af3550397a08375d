// SPDX-License-Identifier: Apache-2.0
// A plan that one thread runs: one Program with one Execution.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/execution.h"

namespace collage::runtime {

class Executor {
 public:
  /// `code` must outlive the executor. `threads` >= 1.
  static Result<std::unique_ptr<Executor>> load(const Plan& plan, const Code& code, int threads);
  explicit Executor(std::unique_ptr<Execution> execution) : execution_(std::move(execution)) {}

  // As Execution has them.
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) { return execution_->run(inputs); }
  void observe(StepRunner::Observer observer) { execution_->observe(std::move(observer)); }
  Result<Tensor> read(BufferId buffer) const { return execution_->read(buffer); }
  Duration device_time() const { return execution_->device_time(); }
  const Timeline& timeline() const { return execution_->timeline(); }
  /// Device::log of all devices, one after another.
  std::vector<std::string> device_log() const;

 private:
  std::unique_ptr<Execution> execution_;
};

}  // namespace collage::runtime
