// SPDX-License-Identifier: Apache-2.0
// `--why` and `--why-not`: questions about the placement that the strategy finds.
#include "compiler/driver/commands/command.h"
#include "compiler/driver/compilation/report_of.h"
#include "compiler/driver/explain/questions.h"
#include "compiler/driver/report/json_report.h"

namespace collage::driver {
namespace {

void explain(Command& command, const Candidates& candidates) {
  const Compilation& compilation = command.compilation;
  std::optional<Questions> questions =
      read_questions(command.request.questions, compilation.graph(), compilation.rules().rules,
                     compilation.activations(), command.diags);
  if (!questions) return;
  std::optional<FoundPlacement> plan = compilation.find_placement(candidates, compilation.strategy(), command.diags);
  if (!plan) return;
  const SearchInput input = compilation.search_input(candidates);
  const bool measures = compilation.costs() != nullptr;
  const ExplainedPlacement explained{input, compilation.strategy(), compilation.active(),
                                     *plan, command.sources,        measures};
  const std::string why = answer_why(*questions, explained), why_not = answer_why_not(*questions, explained);
  if (!command.request.prints_json) {
    command.print_or_write(why + why_not);
    return;
  }
  const Report report = report_of(compilation, candidates, plan->placement, &*plan, command.sources);
  command.print_or_write(answers_json(compilation.graph(), plan->placement, report, why, why_not));
}

}  // namespace

void explain(Command& command) {
  std::optional<Candidates> candidates = read_candidates(command);
  if (candidates) command.clock.time("explain", [&] { explain(command, *candidates); });
}

}  // namespace collage::driver
