// SPDX-License-Identifier: Apache-2.0
// Runs in the measuring process: compiles a candidate's text as every plan is compiled, and times it.
#pragma once

#include <string>

#include "compiler/measure/measurement.h"
#include "compiler/plan/targets.h"
#include "compiler/support/file_cache.h"

namespace collage::measure {

struct TimingOptions {
  int threads = 1;
  double budget_seconds = 0.08;         ///< for the timed runs and the pauses between them
  support::FileCache* cache = nullptr;  ///< of compiled code; null: none
  int least_runs = 5;  ///< undisturbed runs; on a busy machine up to three budgets are spent to get them
};

/// Expects the text of `candidate_text`. A candidate that cannot be compiled or run, or that a device would run only on
/// the reference kernels, is a failure with its reason.
///
/// Running alone differs from running in a network. There the weights of a partition have left the caches since the
/// last run (a network's weights do not fit into L2), while its inputs were just written. So before each timed run
/// every thread reads a buffer larger than L2, and the executor then copies the inputs into place. The time is that of
/// the partition's step in the executor, including its calls and the waking of the pool, but without inputs,
/// conversions and results. With one thread the sums for ResNet-50, MobileNetV2 and NASNet-A mobile were 0.87 to 0.89
/// of the processor time of a run, on a busy machine, where a whole network has more cache misses.
Measurement time_candidate(const std::string& text, const plan::PlanTargets& targets, const TimingOptions& options);

}  // namespace collage::measure
