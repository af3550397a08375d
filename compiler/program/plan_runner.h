// SPDX-License-Identifier: Apache-2.0
// Plans that are run beside each other: built, loaded, timed in turn.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/program/program.h"

namespace collage::driver {

/// A placement ready to run, and what its runs gave.
struct PlanRunner {
  Program program;
  std::unique_ptr<runtime::Executor> executor;  ///< of `program`, destroyed before it
  std::vector<runtime::Tensor> outputs;         ///< of the last run
  std::vector<double> seconds;                  ///< of the runs that count
};

/// `cache`: of compiled code; null: none.
std::optional<PlanRunner> load_runner(const ir::Graph& graph, const ir::Placement& placement,
                                      const plan::PlanTargets& targets, support::FileCache* cache,
                                      support::Diagnostics& diags);

/// Runs all of them in turn, A A A B B B A A A …, so that a machine that slows down slows all of them down; `runs`
/// times each, and each turn begins with runs that do not count (runner/time_plan.h). A failure ends it.
runtime::Status run_in_turn(const std::vector<PlanRunner*>& runners, const std::vector<runtime::Tensor>& inputs,
                            int runs);

/// max |a - b| / max |b| of the worst output; infinite where one is not comparable.
double difference(const std::vector<runtime::Tensor>& a, const std::vector<runtime::Tensor>& b);

}  // namespace collage::driver
