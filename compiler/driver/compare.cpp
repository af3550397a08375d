// SPDX-License-Identifier: Apache-2.0
// `compare`: every strategy on one problem, predicted and, where something is run, measured.
#include <nlohmann/json.hpp>

#include "compiler/compilation/report_of.h"
#include "compiler/driver/command.h"
#include "compiler/measure/conditions.h"
#include "compiler/page/write_report.h"
#include "compiler/report/compare/comparison.h"
#include "compiler/report/json_report.h"
#include "compiler/report/json_text.h"
#include "compiler/report/simulated.h"
#include "compiler/search/evolve_placement.h"

namespace collage::driver {
namespace {

void add_candidate_placement(Command& command, const search::SearchInput& input, report::Comparison& comparison) {
  const std::string& file = command.request.placement.consider;
  if (file.empty()) return;
  runtime::Result<search::FoundPlacement> followed = follow_candidate_placement(command, {});
  if (followed) report::add_row(input, file, std::move(*followed), comparison);
}

/// False after an error.
bool add_evolved(Command& command, const search::SearchInput& input, report::Comparison& comparison) {
  search::EvolveReport report;
  std::optional<search::FoundPlacement> evolved =
      search::evolve_placement(input, *comparison.rows.front().found, command.compilation.targets(),
                               command.compilation.settings(), command.inputs, &report, command.diags);
  if (evolved) report::add_row(input, "evolve", std::move(*evolved), comparison);
  return evolved.has_value();
}

/// `--report`: the placements of all strategies that found one. False after an error.
bool write_page(const Command& command, const compilation::Candidates& candidates,
                const report::Comparison& comparison) {
  if (command.request.report.empty()) return true;
  const compilation::Compilation& compilation = command.compilation;
  page::ReportInput input{.compilation = compilation,
                          .candidates = candidates,
                          .sources = command.sources,
                          .summary = report::comparison_object(compilation.graph(), to_json(comparison)),
                          .placements = {},
                          .findings = command.findings};
  const search::FoundPlacement& best = *comparison.rows.front().found;
  const report::Report report = compilation::report_of(compilation, candidates, best.placement, &best, command.sources);
  for (const report::CompareRow& row : comparison.rows) {
    if (!row.found) continue;
    const request::PlacementRequest& request = command.request.placement;
    const bool is_offered = !request.consider.empty() && row.strategy == request.consider;
    page::GivenPlaces given = is_offered ? page::given_places(request.consider, command.offered)
                                         : page::given_places(request.follow, candidates.written);
    input.placements.push_back({row.strategy, *row.found,
                                compilation::report_of_other(compilation, report, row.strategy, *row.found),
                                std::move(given)});
  }
  return page::write_report(command.request.report, page::report_data(input), command.diags);
}

void compare(Command& command, const compilation::Candidates& candidates, const search::SearchInput& input) {
  std::optional<report::Comparison> comparison = report::compare_strategies(
      input, command.compilation.strategy(), command.request.compares_policies, command.diags);
  if (!comparison) return;
  add_candidate_placement(command, input, *comparison);
  const bool measures = command.request.runs > 0;
  const bool evolves = measures && command.compilation.settings().evolve_evaluations > 0;
  if (evolves && !add_evolved(command, input, *comparison)) return;
  comparison->has_estimates = command.compilation.costs() == nullptr;
  comparison->has_models = !report::models_among(command.compilation.activations(), comparison->backends).empty();
  if (measures) {
    const measure::ConditionsWatch watch;
    // The comparison is printed all the same after an error.
    report::measure(input, command.compilation.targets(), command.request.runs, command.inputs, *comparison,
                    command.diags);
    comparison->disturbance = watch.disturbance(command.compilation.settings().threads);
  }
  if (command.compared != nullptr) {
    *command.compared = std::move(*comparison);
    return;
  }
  const bool is_written =
      command.answer(print(*comparison, command.output.width) + command.note_on_models(comparison->backends),
                     [&] { return report::comparison_json(command.compilation.graph(), to_json(*comparison)); });
  if (is_written) write_page(command, candidates, *comparison);
}

}  // namespace

void compare(Command& command) {
  std::optional<compilation::Candidates> candidates = read_candidates(command);
  if (!candidates) return;
  command.clock.time("compare", [&] { compare(command, *candidates, command.compilation.search_input(*candidates)); });
}

}  // namespace collage::driver
