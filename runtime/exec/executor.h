// SPDX-License-Identifier: Apache-2.0
// Runs a Plan: load once (arenas, resident constants, devices), then run any number of times.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/schedule.h"
#include "runtime/core/status.h"
#include "runtime/devices/device.h"
#include "runtime/exec/code.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Called after each step with the plan's buffers readable (host copies are made on demand).
struct StepReport {
  size_t step = 0;
  double host_seconds = 0;           ///< wall time that the host spent in it
  std::vector<double> call_seconds;  ///< of a host step: of each call
};

class Executor {
 public:
  /// `code` must outlive the executor. `threads` >= 1.
  static Result<std::unique_ptr<Executor>> load(const Plan& plan, const Code& code, int threads);
  virtual ~Executor() = default;

  /// Inputs in the order of Plan::inputs, dtype and shape as there. Outputs in the order of Plan::outputs.
  virtual Result<std::vector<Tensor>> run(const std::vector<Tensor>& inputs) = 0;
  /// Calls `observer` after every step of the next runs; an empty one turns this off.
  virtual void observe(std::function<void(const StepReport&)> observer) = 0;
  /// Current contents of a buffer as a plain row-major host tensor, copied out of a device if needed. For --check.
  virtual Result<Tensor> read(BufferId buffer) = 0;
  /// Sum of the simulated times of all devices and links since load.
  virtual Duration device_time() const = 0;
  /// Start and finish of each step of the last run: in sequence, or overlapping if the plan is concurrent. Simulated
  /// steps take simulated time. The other steps take wall time, which is measured if the plan is concurrent or observed;
  /// otherwise it is 0.
  virtual const Timeline& timeline() const = 0;
  /// Device::log of all devices, one after another.
  virtual std::vector<std::string> device_log() const = 0;
};

}  // namespace collage::runtime
