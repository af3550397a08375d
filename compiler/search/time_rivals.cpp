// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/time_rivals.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/measure/plan_text.h"
#include "compiler/place/strategies.h"
#include "compiler/request/placement_file.h"
#include "compiler/search/placement_search.h"

namespace collage::search {
namespace {

using place::CandidateId;
using place::Strategy;

/// Predictions of whole plans are wrong by up to that much.
constexpr double kRivalMargin = 0.1;
/// A rival has to be faster by that much.
constexpr double kLeastGain = 0.01;
/// More would take longer to compile than they are likely to gain.
constexpr size_t kMostRivals = 3;

struct Rival {
  std::string strategy;
  FoundPlacement found;
};

bool is_on_host(const ir::Placement& placement) {
  return std::all_of(placement.partitions.begin(), placement.partitions.end(),
                     [](const ir::Partition& partition) { return partition.instance == "host"; });
}

bool is_unmeasured(const SearchInput& input, CandidateId candidate) {
  return input.built.origin(candidate).unmeasured;
}

bool has_measured(const SearchInput& input, const FoundPlacement& found) {
  return std::any_of(found.chosen.begin(), found.chosen.end(),
                     [&](CandidateId c) { return input.built.origin(c).measured; });
}

/// Other placements that are predicted to take little more, the best first.
std::vector<Rival> rivals_of(const SearchInput& input, const FoundPlacement& best) {
  std::vector<Rival> rivals;
  std::vector<std::string> known{request::print_placement(input.graph, best.placement)};
  const double most = best.predicted.value() * (1 + kRivalMargin);
  for (const Strategy& strategy :
       place::simpler_strategies(place::Simpler::Each, place::backend_names(input.built.problem))) {
    runtime::Result<FoundPlacement> found = PlacementSearch(input, strategy).find();
    if (!found || found->predicted.value() > most || !is_on_host(found->placement)) continue;
    std::string text = request::print_placement(input.graph, found->placement);
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    known.push_back(std::move(text));
    rivals.push_back({to_string(strategy), std::move(*found)});
  }
  std::stable_sort(rivals.begin(), rivals.end(),
                   [](const Rival& a, const Rival& b) { return a.found.predicted < b.found.predicted; });
  if (rivals.size() > kMostRivals) rivals.erase(rivals.begin() + kMostRivals, rivals.end());
  return rivals;
}

/// The rival with the costs that the search did without, and what all placements cost at least as `bound` was that
/// before. Nothing: a part of it cannot be measured.
std::optional<FoundPlacement> with_measured_costs(const SearchInput& input, const FoundPlacement& rival, Cost bound,
                                                  measure::MeasuredCosts& costs) {
  std::vector<CandidateId> unmeasured;
  std::vector<ir::Partition> partitions;
  for (CandidateId c : rival.chosen) {
    if (!is_unmeasured(input, c)) continue;
    unmeasured.push_back(c);
    partitions.push_back(place::candidate_partition(input.graph, input.built, c));
  }
  place::BuiltProblem built = input.built;
  std::vector<std::pair<CandidateId, Cost>> measured_later;
  Cost below;
  const std::vector<place::MeasuredCost> answers = costs.measure(input.graph, partitions);
  for (size_t a = 0; a < answers.size(); ++a) {
    if (!answers[a].cost) return std::nullopt;
    Cost& cost = built.problem.candidates[unmeasured[a]].cost;
    const Cost measured = Cost::time(*answers[a].cost);
    if (measured < cost) below += cost - measured;
    cost = measured;
    measured_later.emplace_back(unmeasured[a], measured);
  }
  FoundPlacement found = to_found_placement(with_problem(input, built), rival.solution);
  found.solution.cost = found.predicted;
  found.measured_later = std::move(measured_later);
  found.bound = std::min(found.predicted, bound - below);
  return found;
}

}  // namespace

FoundPlacement time_rivals(const SearchInput& input, FoundPlacement best, measure::MeasuredCosts& costs,
                           RivalReport* report) {
  if (!is_on_host(best.placement) || !has_measured(input, best)) return best;
  const std::vector<Rival> rivals = rivals_of(input, best);
  if (rivals.empty()) return best;
  std::vector<std::string> texts{measure::plan_text(input.graph, best.placement)};
  for (const Rival& rival : rivals) texts.push_back(measure::plan_text(input.graph, rival.found.placement));
  const std::vector<measure::Measurement> times = costs.time_plans(texts);
  if (times.size() != texts.size() || times[0].failed()) {
    report->text = "not timed: " + (times.empty() ? std::string("no answer") : times[0].failure);
    return best;
  }
  report->text = fmt::format("optimal {}", human(times[0].cost));
  size_t fastest = 0;
  for (size_t t = 1; t < times.size(); ++t) {
    const measure::Measurement& time = times[t];
    report->text += fmt::format(", {} {}", rivals[t - 1].strategy, time.failed() ? time.failure : human(time.cost));
    if (time.failed()) continue;
    const double gain = 1 - time.cost.seconds() / times[0].cost.seconds();
    const double error = time.spread.seconds() / times[0].cost.seconds();
    const bool is_faster = gain > std::max(kLeastGain, 2 * error);
    if (is_faster && (fastest == 0 || time.cost < times[fastest].cost)) fastest = t;
  }
  report->text += ", timed in turn";
  report->timed = times[0].cost;
  if (fastest == 0) return best;
  std::optional<FoundPlacement> taken = with_measured_costs(input, rivals[fastest - 1].found, best.bound, costs);
  if (!taken) return best;
  report->is_taken = true;
  report->timed = times[fastest].cost;
  report->text += fmt::format(": {} is built", rivals[fastest - 1].strategy);
  taken->optimal = false;
  taken->states = best.states;
  taken->seconds = best.seconds;
  return std::move(*taken);
}

}  // namespace collage::search
