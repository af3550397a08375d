// SPDX-License-Identifier: Apache-2.0
// Runs in the measuring process: compiles a candidate's text as every plan is compiled, and times it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/measure/measurement.h"
#include "compiler/plan/targets.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/support/file_cache.h"

namespace collage::measure {

struct TimingOptions {
  int threads = 1;
  double budget_seconds = 0.08;         ///< for the timed runs and the pauses between them
  support::FileCache* cache = nullptr;  ///< of compiled code; null: none
  int least_runs = 5;       ///< undisturbed runs; on a busy machine up to three budgets are spent to get them
  Duration reference{};     ///< what the reference kernel takes undisturbed; 0: not known
  int swept_mebibytes = 0;  ///< read between runs (cache_state.h)
  std::vector<uint64_t>* sweep_memory = nullptr;  ///< for that; null: its own
};

/// Seconds of the runs of one candidate: their quartiles.
struct Timing {
  double median = 0;
  double range = 0;  ///< between the quartiles
  int runs = 0;
  std::string disturbance{};  ///< of all of them (conditions.h); empty: nothing disturbed them
};

/// A candidate that is compiled and loaded, to be timed as often as the caller wants.
///
/// Running alone differs from running in a network. There the weights of a partition have left the caches since the
/// last run (a network's weights do not fit into L2), while its inputs were just written. So before each timed run
/// every thread reads a buffer larger than L2, or more for large networks (cache_state.h), and the executor then copies
/// the inputs into place. The time is that of
/// the partition's step in the executor, including its calls and the waking of the pool, but without inputs,
/// conversions and results. With one thread the sums for ResNet-50, MobileNetV2 and NASNet-A mobile were 0.87 to 0.89
/// of the processor time of a run, on a busy machine, where a whole network has more cache misses.
class LoadedCandidate {
 public:
  /// Expects the text of `candidate_text`. A candidate that cannot be compiled, or that a device would run only on the
  /// reference kernels, is an error with its reason.
  static runtime::Result<std::unique_ptr<LoadedCandidate>> load(const std::string& text,
                                                                const plan::PlanTargets& targets,
                                                                const codegen::JitOptions& options);
  virtual ~LoadedCandidate() = default;

  /// Times runs within a budget, on random inputs; `options.threads` are those that it was loaded for.
  virtual runtime::Result<Timing> time(const TimingOptions& options) = 0;
  /// Runs it once, on inputs in the order of the text's model.
  virtual runtime::Result<std::vector<runtime::Tensor>> run(const std::vector<runtime::Tensor>& inputs) = 0;
  /// Returns whether a run calls a reference kernel: a node of a host partition for which there is no code.
  virtual bool calls_reference_kernels() const = 0;
  /// Kernels that were compiled for it, and not found in the cache.
  virtual int compiled_kernels() const = 0;
};

/// Loads a candidate and times it once. What cannot be loaded or run is a failure with its reason.
Measurement time_candidate(const std::string& text, const plan::PlanTargets& targets, const TimingOptions& options);

}  // namespace collage::measure
