// SPDX-License-Identifier: Apache-2.0
#include "compiler/compilation/answer_questions.h"

#include <algorithm>

#include "compiler/report/explain/questions.h"

namespace collage::compilation {
namespace {

using place::BuiltProblem;
using support::Code;

/// The same values in the same formats.
bool is_same(const BuiltProblem& a, const std::vector<place::ValueFormat>& of_a, const BuiltProblem& b,
             const std::vector<place::ValueFormat>& of_b) {
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [&](const place::ValueFormat& one, const place::ValueFormat& other) {
                      return a.values[one.value] == b.values[other.value] &&
                             a.problem.formats[one.format] == b.problem.formats[other.format];
                    });
}

/// The candidate of `to` that differs from one of `from` in its cost at most; none where it turned out not to run.
place::CandidateId counterpart(const BuiltProblem& from, place::CandidateId id, const BuiltProblem& to) {
  const place::Candidate& wanted = from.problem.candidates[id];
  const place::Owner& owner = from.problem.owners[wanted.owner];
  for (place::CandidateId c : to.candidate_ids()) {
    const place::Candidate& candidate = to.problem.candidates[c];
    const place::Owner& other = to.problem.owners[candidate.owner];
    if (candidate.nodes == wanted.nodes && candidate.rule == wanted.rule && candidate.split == wanted.split &&
        other.backend == owner.backend && other.instance == owner.instance &&
        is_same(from, wanted.reads, to, candidate.reads) && is_same(from, wanted.writes, to, candidate.writes)) {
      return c;
    }
  }
  return {};
}

/// The same choice among other candidates. Returns nullopt where they lack one of it.
std::optional<search::FoundPlacement> find_again(const search::FoundPlacement& found, const BuiltProblem& from,
                                                 const search::SearchInput& input) {
  place::Solution solution = found.solution;
  for (place::CandidateId& chosen : solution.chosen) {
    chosen = counterpart(from, chosen, input.built);
    if (!chosen.is_valid()) return std::nullopt;
  }
  return search::to_found_placement(input, solution);
}

}  // namespace

std::optional<Answers> answer_questions(const Compilation& compilation, const Candidates& candidates,
                                        const std::optional<EarlierPlacement>& earlier,
                                        const request::QuestionRequest& request, support::Diagnostics& diags) {
  const place::Objective& objective = *compilation.settings().objective;
  if (!objective.sums_times()) {
    return diags.error_at(Code::BadOption, "objective", "`{}` does not add up times, so no question can be answered",
                          objective.name);
  }
  std::optional<report::Questions> questions =
      report::read_questions(request, compilation.graph(), compilation.rules().rules, compilation.activations(), diags);
  if (!questions) return std::nullopt;
  const search::SearchInput input = compilation.search_input(candidates);
  const place::Strategy& strategy = compilation.strategy();
  const bool has_newer_costs = earlier && &earlier->among != &candidates;
  std::optional<search::FoundPlacement> placement;
  if (earlier) placement = has_newer_costs ? find_again(earlier->found, earlier->among.built, input) : earlier->found;
  if (!placement) placement = compilation.find_placement(candidates, strategy, diags);
  if (!placement) return std::nullopt;
  const bool measures = compilation.costs() != nullptr;
  const report::ExplainedPlacement explained{input,           strategy, compilation.active(), *placement,
                                             diags.sources(), measures, has_newer_costs};
  std::vector<report::Answer> why = report::answer_why(*questions, explained),
                              why_not = report::answer_why_not(*questions, explained);
  return Answers{std::move(why), std::move(why_not), std::move(*placement)};
}

}  // namespace collage::compilation
