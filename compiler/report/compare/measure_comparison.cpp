// SPDX-License-Identifier: Apache-2.0
// Runs the plans of a comparison in turn (comparison.h).
#include <algorithm>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/plan/check.h"
#include "compiler/program/plan_runner.h"
#include "compiler/report/compare/comparison.h"
#include "compiler/request/graph_ports.h"
#include "compiler/request/placement_file.h"
#include "runtime/runner/time_plan.h"

namespace collage::report {

using runtime::Tensor;
using support::Code;

bool measure(const search::SearchInput& input, const plan::PlanTargets& targets, int runs,
             const std::vector<runner::BoundInput>& inputs, Comparison& comparison, support::Diagnostics& diags) {
  const std::vector<Tensor> operands = runner::inputs_of_run(request::ports_of(input.graph), inputs, 0);
  runtime::Result<std::vector<Tensor>> reference = ir::evaluate_graph(input.graph, operands);
  if (!reference) return diags.error_at(Code::RunFailed, input.graph.name, "{}", reference.message());

  std::map<std::string, program::PlanRunner> runners;  // by the text of the plan
  std::vector<program::PlanRunner*> of_row(comparison.rows.size(), nullptr);
  for (size_t i = 0; i < comparison.rows.size(); ++i) {
    CompareRow& row = comparison.rows[i];
    if (!row.found) continue;
    std::string text = request::print_placement(input.graph, row.found->placement);
    auto known = runners.find(text);
    if (known == runners.end()) {
      std::optional<program::PlanRunner> runner =
          program::load_runner(input.graph, row.found->placement, targets, input.cache, diags);
      if (!runner) return false;
      known = runners.emplace(std::move(text), std::move(*runner)).first;
    }
    of_row[i] = &known->second;
  }

  comparison.runs = runs;
  std::vector<program::PlanRunner*> turn;  // each once, in the order of the rows
  for (program::PlanRunner* runner : of_row) {
    if (runner != nullptr && std::find(turn.begin(), turn.end(), runner) == turn.end()) turn.push_back(runner);
  }
  if (runtime::Status status = program::run_in_turn(turn, operands, comparison.runs); !status) {
    return diags.error_at(Code::RunFailed, input.graph.name, "{}", status.message());
  }

  bool good = true;
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] == nullptr) continue;
    const program::PlanRunner& runner = *of_row[i];
    Measured measured{runner::median(runner.seconds), *std::min_element(runner.seconds.begin(), runner.seconds.end()),
                      program::difference(runner.outputs, *reference)};
    for (const program::PlanRunner* other : turn)
      comparison.disagreement = std::max(comparison.disagreement, program::difference(runner.outputs, other->outputs));
    comparison.rows[i].measured = measured;
    if (measured.difference <= plan::kDefaultTolerance) continue;
    good = diags.error_at(Code::CheckFailed, comparison.rows[i].strategy,
                          "the results differ from the reference by {:.2e} of the largest value", measured.difference);
  }
  return good;
}

}  // namespace collage::report
