// SPDX-License-Identifier: Apache-2.0
#include "compiler/program/plan_runner.h"

#include <algorithm>
#include <limits>

#include "compiler/plan/check.h"
#include "runtime/runner/time_plan.h"

namespace collage::program {

std::optional<PlanRunner> load_runner(const ir::Graph& graph, const ir::Placement& placement,
                                      const plan::PlanTargets& targets, support::FileCache* cache,
                                      support::Diagnostics& diags, const std::atomic<bool>* stop) {
  runner::WorkListener stopper;
  stopper.stop_measuring = stop;
  ProgramOptions options;
  options.cache = cache;
  options.listener = &stopper;
  std::optional<Program> program = build_program(graph, placement, targets, options, diags);
  if (!program) return std::nullopt;
  std::unique_ptr<runtime::Executor> executor = load_program(*program, targets.threads, diags);
  if (executor == nullptr) return std::nullopt;
  return PlanRunner{std::move(*program), std::move(executor), {}, {}};
}

runtime::Status run_in_turn(const std::vector<PlanRunner*>& runners, const std::vector<runtime::Tensor>& inputs,
                            int runs, const std::atomic<bool>* stop) {
  for (int done = 0; done < runs; done += runner::kRunsOfTurn) {
    for (PlanRunner* runner : runners) {
      if (runtime::Status status = runner::settle(*runner->executor, inputs); !status) return status;
      for (int r = done; r < std::min(runs, done + runner::kRunsOfTurn); ++r) {
        if (stop != nullptr && *stop) return runtime::Status::error("measuring was stopped");
        runtime::Result<runner::TimedRun> run = runner::time_run(*runner->executor, inputs);
        if (!run) return run.status();
        runner->outputs = std::move(run->outputs);
        runner->seconds.push_back(run->latency);
      }
    }
  }
  return runtime::Status::ok();
}

double difference(const std::vector<runtime::Tensor>& a, const std::vector<runtime::Tensor>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    plan::CheckRow row = plan::compare(a[i], b[i], 0);
    if (row.max_difference == 0) continue;
    worst = std::max(worst, row.max_magnitude > 0 ? row.max_difference / row.max_magnitude
                                                  : std::numeric_limits<double>::infinity());
  }
  return worst;
}

}  // namespace collage::program
