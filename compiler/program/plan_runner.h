// SPDX-License-Identifier: Apache-2.0
// Plans that are run beside each other: built, loaded, timed in turn.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/program/program.h"

namespace collage::program {

/// A placement ready to run, and what its runs gave.
struct PlanRunner {
  Program program;
  std::unique_ptr<runtime::Executor> executor;  ///< of `program`, destroyed before it
  std::vector<runtime::Tensor> outputs;         ///< of the last run
  std::vector<double> seconds;                  ///< of the runs that count
};

/// `cache`: of compiled code; null: none. `stop`: once true, what is compiled is given up; null: it is not stopped.
std::optional<PlanRunner> load_runner(const ir::Graph& graph, const ir::Placement& placement,
                                      const plan::PlanTargets& targets, support::FileCache* cache,
                                      support::Diagnostics& diags, const std::atomic<bool>* stop = nullptr);

/// Runs all of them in turn, A A A B B B A A A …, so that a machine that slows down slows all of them down; `runs`
/// times each, and each turn begins with runs that do not count (runner/time_plan.h). A failure ends it, and so does
/// `stop`.
runtime::Status run_in_turn(const std::vector<PlanRunner*>& runners, const std::vector<runtime::Tensor>& inputs,
                            int runs, const std::atomic<bool>* stop = nullptr);

/// max |a - b| / max |b| of the worst output; infinite where one is not comparable.
double difference(const std::vector<runtime::Tensor>& a, const std::vector<runtime::Tensor>& b);

}  // namespace collage::program
