// SPDX-License-Identifier: Apache-2.0
// `--bench N`: how long a loaded model takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/runner/work_listener.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// Times of a plan whose steps run side by side.
struct OverlapTimes {
  double makespan = 0;  ///< seconds, median
  double period = 0;    ///< seconds per input of a stream whose steps take the least time that they took
};

struct BenchReport {
  std::vector<double> seconds{};  ///< of each run, in order
  runtime::Duration simulated{};  ///< of one run, on simulated devices and links
  std::optional<OverlapTimes> overlap{};

  double median() const;
  double least() const;
};

/// Times `runs` runs after a warm-up. Returns nullopt after an error.
std::optional<BenchReport> bench_model(const runtime::Plan& plan, const std::vector<runtime::Tensor>& inputs, int runs,
                                       runtime::Executor& executor, const WorkListener& listener,
                                       support::Diagnostics& diags);

std::string print(const BenchReport& report);

/// `--bench-json`. `strategy`: of the placement; empty: not known.
std::string to_json(const BenchReport& report, const std::string& model, const std::string& strategy, int threads);

}  // namespace collage::runner
