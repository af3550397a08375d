// SPDX-License-Identifier: Apache-2.0
// The measuring itself, in the measuring process: a candidate's text is compiled by the way of every plan, and run.
#pragma once

#include <string>

#include "compiler/measure/measurement.h"
#include "compiler/plan/targets.h"

namespace collage::measure {

struct TimingOptions {
  int threads = 1;
  double budget_seconds = 0.08;  ///< for the timed runs and what lies between them
  int least_runs = 5;            ///< undisturbed ones; on a busy machine three budgets are spent on getting them
};

/// Expects text by `candidate_text`. What cannot be compiled, run or, off the host, would only run on the reference
/// kernels, is a failure with its reason.
///
/// Alone is not in a network: there the weights of a partition have left the caches since the last run (a network's do
/// not fit into L2), while its inputs were written a moment ago. So before each timed run every thread reads a buffer
/// larger than L2, and the executor then copies the inputs into their place. The time is that of the partition's step
/// as the executor has it, with its calls and the waking of the pool; taking inputs in, conversions and giving results
/// out belong to no partition. With one thread the sums of ResNet-50, MobileNetV2 and NASNet-A mobile were 0.87 to 0.89
/// of the processor time of a run, on a machine with much other work, which costs a whole network more cache misses.
Measurement time_candidate(const std::string& text, const plan::PlanTargets& targets, const TimingOptions& options);

}  // namespace collage::measure
