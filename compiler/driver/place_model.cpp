// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/place_model.h"

#include <fmt/format.h>

#include "compiler/compilation/report_of.h"
#include "compiler/driver/check_plan.h"
#include "compiler/request/written_partitions.h"
#include "compiler/search/candidate_placement.h"
#include "compiler/search/certificate.h"
#include "compiler/search/evolve_placement.h"
#include "compiler/search/time_rivals.h"
#include "runtime/support/write_file.h"

namespace collage::driver {
namespace {

using support::Code;

/// A model that leaves nothing to search.
std::optional<PlacedModel> keep_written(const Command& command, const compilation::Candidates& candidates) {
  if (!command.request.placement.certificate.empty()) {
    return command.diags.error_at(Code::BadOption, "--certificate",
                                  "the model is placed already, and nothing is searched");
  }
  const compilation::Compilation& compilation = command.compilation;
  search::FoundPlacement written;
  written.placement = request::complete_costs(compilation.model().placement, candidates.built);
  report::Report report = compilation::report_of(compilation, candidates, written.placement, nullptr, command.sources);
  return PlacedModel{std::move(written), std::move(report)};
}

/// Compares the outcome with the user's own placement, and keeps the cheaper of the two. Returns what was decided.
std::string consider_candidate_placement(Command& command, const place::Strategy& strategy,
                                         search::FoundPlacement* found) {
  const search::OfferVerdict verdict = search::judge_offer(command.request.placement.consider, command.offered,
                                                           follow_candidate_placement(command, strategy), found);
  return to_string(verdict, found->predicted);
}

/// Writes the certificate of the plan that is built; what it proves beyond the search, the plan has as well. Returns
/// nullopt after an error.
std::optional<std::string> certify(const Command& command, const search::SearchInput& input,
                                   search::FoundPlacement& found) {
  const std::string& path = command.request.placement.certificate;
  if (path.empty()) return "";
  certificate::CertificateFile file = search::certificate_of(input, found);
  file.about = about(command, command.compilation.costs() != nullptr);
  file.about.problem = certificate::problem_hash(file);
  if (!support::write_file(path, certificate::to_json(file), command.diags)) return std::nullopt;
  found.bound = file.solution.bound;
  found.optimal = file.solution.optimal;
  return fmt::format("{}: {}", path, search::to_string(file));
}

}  // namespace

std::optional<PlacedModel> place_model(Command& command, const compilation::Candidates& candidates) {
  const compilation::Compilation& compilation = command.compilation;
  if (request::is_fully_placed(compilation.graph(), compilation.model().placement))
    return keep_written(command, candidates);
  const search::SearchInput input = compilation.search_input(candidates);
  place::Strategy strategy = compilation.strategy();
  const bool evolves = place::is_measured(strategy);
  if (evolves) strategy = place::Strategy{};
  if (evolves && !command.request.placement.consider.empty()) {
    return command.diags
        .error_at(Code::BadOption, "--candidate-placement", "it is compared by its cost, and `evolve` compares times")
        .note("`--placement FILE` follows it; `--strategy=optimal` compares it with the best");
  }
  std::optional<search::FoundPlacement> found = compilation.find_placement(
      candidates, strategy, command.diags, command.request.report.empty() ? nullptr : &command.findings.search);
  if (!found) return std::nullopt;
  std::string considered, evolved;
  if (!command.request.placement.consider.empty())
    considered = consider_candidate_placement(command, strategy, &*found);
  if (evolves) {
    search::EvolveReport report;
    found = search::evolve_placement(input, *found, compilation.targets(), compilation.settings(), command.inputs,
                                     &report, command.diags);
    if (!found) return std::nullopt;
    evolved = to_string(report);
  }
  search::RivalReport rivals;
  const bool has_rivals = compilation.settings().costs.times_rivals && !evolves &&
                          command.request.placement.consider.empty() && place::is_exact(strategy) &&
                          compilation.settings().objective == place::default_objective();
  measure::MeasuredCosts* costs = command.compilation.measuring();
  if (has_rivals && costs != nullptr) {
    found = search::time_rivals(input, std::move(*found), *costs, &rivals);
    command.compilation.warn_of_costs(command.diags);
    if (compilation.is_stopped(command.diags)) return std::nullopt;
  }
  std::optional<std::string> certified = certify(command, input, *found);
  if (!certified) return std::nullopt;
  report::Report report = compilation::report_of(compilation, candidates, found->placement, &*found, command.sources);
  compilation::add_baselines(compilation, candidates, report);
  compilation::add_limits(compilation, candidates, *found, command.sources, report);
  report.considered = std::move(considered);
  report.evolved = std::move(evolved);
  report.rivals = std::move(rivals.text);
  report.timed = rivals.timed;
  report.certified = std::move(*certified);
  report.quantized = command.quantized;
  return PlacedModel{std::move(*found), std::move(report)};
}

}  // namespace collage::driver
