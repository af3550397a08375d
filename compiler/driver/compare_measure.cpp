// SPDX-License-Identifier: Apache-2.0
// Runs the plans of a comparison in turn (compare.h).
#include <algorithm>
#include <limits>

#include "compiler/codegen/jit.h"
#include "compiler/driver/compare.h"
#include "compiler/driver/plan_file.h"
#include "compiler/driver/time_plan.h"
#include "compiler/ir/evaluate.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/check.h"

namespace collage::driver {
namespace {

using runtime::Tensor;
using support::Code;

constexpr int kWarmUp = 2;
constexpr int kUsualRuns = 10;

/// A placement that some rows share, ready to run.
struct Runner {
  plan::BuiltPlan built;
  std::unique_ptr<runtime::Executor> executor;
  std::vector<bool> simulated;
  std::vector<Tensor> outputs;  ///< of the last run
  std::vector<double> seconds;
};

/// max |a - b| / max |b| of the worst output; infinite where one is not comparable.
double difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    plan::CheckRow row = plan::compare(a[i], b[i], 0);
    if (row.max_difference == 0) continue;
    worst = std::max(worst, row.max_magnitude > 0 ? row.max_difference / row.max_magnitude
                                                  : std::numeric_limits<double>::infinity());
  }
  return worst;
}

std::optional<Runner> load(const SearchInput& input, const FoundPlan& plan, const plan::PlanTargets& targets,
                           int threads, codegen::Jit& jit, support::Diagnostics& diags) {
  std::optional<plan::BuiltPlan> built = plan::build_plan(input.graph, plan.placement, targets, jit, diags);
  if (!built) return std::nullopt;
  auto executor = runtime::Executor::load(built->plan, jit, threads);
  if (!executor) return diags.error_at(Code::RunFailed, input.graph.name, "{}", executor.message());
  std::vector<bool> simulated = simulated_steps(built->plan);
  return Runner{std::move(*built), std::move(*executor), std::move(simulated), {}, {}};
}

}  // namespace

bool measure(const SearchInput& input, const plan::PlanTargets& targets, const Options& options,
             const std::vector<BoundInput>& inputs, Comparison& comparison, support::Diagnostics& diags) {
  codegen::JitOptions jit_options;
  jit_options.threads = options.threads;
  runtime::Result<std::unique_ptr<codegen::Jit>> jit = codegen::Jit::create(jit_options);
  if (!jit) return diags.error_at(Code::BackendFailed, "host", "{}", jit.message());
  const std::vector<Tensor> operands = inputs_of_run(input.graph, inputs, 0);
  runtime::Result<std::vector<Tensor>> reference = ir::evaluate_graph(input.graph, operands);
  if (!reference) return diags.error_at(Code::RunFailed, input.graph.name, "{}", reference.message());

  std::map<std::string, Runner> runners;  // by the text of the plan
  std::vector<Runner*> of_row(comparison.rows.size(), nullptr);
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    CompareRow& row = comparison.rows[i];
    if (!row.plan) continue;
    std::string text = print_plan(input.graph, row.plan->placement);
    auto known = runners.find(text);
    if (known == runners.end()) {
      std::optional<Runner> runner = load(input, *row.plan, targets, options.threads, **jit, diags);
      if (!runner) return false;
      known = runners.emplace(std::move(text), std::move(*runner)).first;
    }
    of_row[i] = &known->second;
  }

  comparison.runs = options.bench > 0 ? options.bench : kUsualRuns;
  std::vector<Runner*> turn;  // each once, in the order of the rows
  for (Runner* runner : of_row) {
    if (runner != nullptr && std::find(turn.begin(), turn.end(), runner) == turn.end()) turn.push_back(runner);
  }
  for (int r = -kWarmUp; r < comparison.runs; ++r) {
    for (Runner* runner : turn) {
      runtime::Result<TimedRun> run = time_run(*runner->executor, runner->simulated, operands);
      if (!run) return diags.error_at(Code::RunFailed, input.graph.name, "{}", run.message());
      runner->outputs = std::move(run->outputs);
      if (r >= 0) runner->seconds.push_back(run->latency);
    }
  }

  bool good = true;
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] == nullptr) continue;
    const Runner& runner = *of_row[i];
    Measured measured{median(runner.seconds), *std::min_element(runner.seconds.begin(), runner.seconds.end()),
                      difference(runner.outputs, *reference)};
    for (const Runner* other : turn)
      comparison.disagreement = std::max(comparison.disagreement, difference(runner.outputs, other->outputs));
    comparison.rows[i].measured = measured;
    if (measured.difference <= plan::kDefaultTolerance) continue;
    good = diags.error_at(Code::CheckFailed, comparison.rows[i].strategy,
                          "the results differ from the reference by {:.2e} of the largest value", measured.difference);
  }
  return good;
}

}  // namespace collage::driver
