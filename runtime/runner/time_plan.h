// SPDX-License-Identifier: Apache-2.0
// How long a loaded plan takes. Steps on simulated devices and their links count with simulated time: what the host
// spends on computing their results says nothing about the device. Steps of a concurrent plan overlap.
#pragma once

#include <vector>

#include "runtime/exec/executor.h"

namespace collage::runner {

/// Runs before those that count: the first ones load code and memory.
inline constexpr int kWarmUpRuns = 3;

struct TimedRun {
  double latency = 0;         ///< seconds, end to end
  std::vector<double> steps;  ///< seconds, as Plan::steps
  std::vector<runtime::Tensor> outputs;
};

/// Several plans are timed in turn, each for so many runs.
inline constexpr int kRunsOfTurn = 3;

/// Runs a plan, uncounted, until the threads of those that ran before it disturb it no more. They spin for about 10 ms
/// after their last loop, and a plan with threads of its own would compete with them.
runtime::Status settle(runtime::Executor& executor, const std::vector<runtime::Tensor>& inputs);

/// One run. The executor's observer is replaced.
runtime::Result<TimedRun> time_run(runtime::Executor& executor, const std::vector<runtime::Tensor>& inputs);

/// The value at a fraction, 0 to 1, of the sorted list. Not empty.
double quantile(std::vector<double> values, double fraction);
/// The middle one; of an even number the upper. Not empty.
double median(std::vector<double> values);

}  // namespace collage::runner
