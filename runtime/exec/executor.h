// SPDX-License-Identifier: Apache-2.0
// A plan that one thread runs: one Program with one Execution, and the programs that take over when devices are lost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/companion.h"
#include "runtime/exec/recovery.h"

namespace collage::runtime {

class Executor {
 public:
  /// `code` must outlive the executor. `threads` >= 1. `replanner`: asked when a device is lost; null: that is an
  /// error.
  static Result<std::unique_ptr<Executor>> load(const Plan& plan, const Code& code, int threads,
                                                LoadOptions options = {},
                                                std::shared_ptr<Replanner> replanner = nullptr);
  explicit Executor(std::unique_ptr<RecoveringExecution> execution) : execution_(std::move(execution)) {}

  // As Execution has them.
  void announce_run() { execution_->current().announce_run(); }
  Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs);
  void observe(StepRunner::Observer observer) { execution_->observe(std::move(observer)); }
  Status on_threads(RangeFunction body, void* context) { return execution_->current().on_threads(body, context); }
  Result<Tensor> read(BufferId buffer) const { return execution_->current().read(buffer); }
  Duration device_time() const { return execution_->device_time(); }
  const Timeline& timeline() const { return execution_->current().timeline(); }
  /// The execution of the program that runs now.
  const Execution& execution() const { return execution_->current(); }
  /// The plan of the last run: another one once a device is lost.
  const Plan& plan() const { return execution_->current().program().plan(); }
  /// From now on, with each run.
  void accompany(std::shared_ptr<Companion> companion) { companion_ = std::move(companion); }
  /// Device::log of all devices, one after another.
  std::vector<std::string> device_log() const;

  // Counts of retries and recoveries.
  size_t retries() const { return execution_->retries(); }
  const std::string& last_retried() const { return execution_->last_retried(); }
  std::vector<DeviceLoss> losses() const { return execution_->recovery().losses(); }

 private:
  std::unique_ptr<RecoveringExecution> execution_;
  std::shared_ptr<Companion> companion_{};  ///< null: none
};

}  // namespace collage::runtime
