// SPDX-License-Identifier: Apache-2.0
// One sentence where several times are known of a model: which of them to believe, and why.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/duration.h"
#include "runtime/runner/bench.h"

namespace collage::page {

/// What is known of how long a placement takes.
struct TimeEvidence {
  runtime::Duration predicted;
  bool has_estimates = false;                ///< the prediction is by formulas of rule files
  size_t on_reference_kernels = 0;           ///< operators
  std::vector<std::string> models{};         ///< of chips, that take part: no device runs them
  std::optional<runtime::Duration> timed{};  ///< the plan as a whole, beside its rivals (search/time_rivals.h)
  std::optional<runner::BenchReport> bench{};
  std::optional<double> profiled{};  ///< seconds: the kernels of a run, timed one by one
  /// Strategies of `compare` that were run, with their medians in seconds; the one that is shown comes first.
  std::vector<std::pair<std::string, double>> compared{};
};

/// `Believe the bench, 23.1 ms, 1.3 times the 17.8 ms predicted: …`. Empty where nothing but a prediction from measured
/// costs is known.
std::string believed_time(const TimeEvidence& evidence);

}  // namespace collage::page
