// SPDX-License-Identifier: Apache-2.0
// `why` and `why-not`: questions about the placement that the strategy finds.
#include "compiler/compilation/answer_questions.h"
#include "compiler/compilation/report_of.h"
#include "compiler/driver/command.h"
#include "compiler/report/json_report.h"

namespace collage::driver {
namespace {

void explain(Command& command, const compilation::Candidates& candidates) {
  compilation::Compilation& compilation = command.compilation;
  std::optional<compilation::Answers> answers =
      compilation::answer_questions(compilation, candidates, std::nullopt, command.request.questions, command.diags);
  if (!answers) return;
  command.answer(answers->text(), [&] {
    const search::FoundPlacement& found = answers->placement;
    const report::Report report =
        compilation::report_of(compilation, candidates, found.placement, &found, command.sources);
    return report::answers_json(compilation.graph(), found.placement, report, answers->why, answers->why_not);
  });
}

}  // namespace

void explain(Command& command) {
  std::optional<compilation::Candidates> candidates = read_candidates(command);
  if (candidates) command.clock.time("explain", [&] { explain(command, *candidates); });
}

}  // namespace collage::driver
