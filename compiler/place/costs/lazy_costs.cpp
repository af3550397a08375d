// SPDX-License-Identifier: Apache-2.0
// See lazy_costs.h.
#include "compiler/place/costs/lazy_costs.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/place/problem/steiner.h"

namespace collage::place {
namespace {

Duration scaled(Duration duration, double factor) {
  return Duration::picoseconds(static_cast<int64_t>(static_cast<double>(duration.ps()) * factor));
}

/// What is known of one kind.
struct Kind {
  std::vector<Observation> known;
  double least = 1;  ///< of a cost to its floor, if one was below
};

std::map<CostKindId, Kind> kinds_of(const OpenCosts& open) {
  std::map<CostKindId, Kind> kinds;
  for (const OpenCost& item : open.items) {
    if (!item.cost || item.floor <= Duration()) continue;
    Kind& kind = kinds[item.kind];
    kind.known.push_back({item.features, *item.cost});
    kind.least = std::min(kind.least, static_cast<double>(item.cost->ps()) / static_cast<double>(item.floor.ps()));
  }
  return kinds;
}

/// Where nothing is known of a kind, its floor is expected: what may be cheap is worth a look.
Table<OpenCostId, Duration> costs_of(const OpenCosts& open, const LazyOptions& options, Unknown unknown) {
  std::map<CostKindId, Roofline> rooflines;
  std::map<CostKindId, double> least;
  for (const auto& [kind, known] : kinds_of(open)) {
    least[kind] = known.least;
    if (options.fits && known.known.size() >= options.least_of_kind) rooflines.emplace(kind, Roofline(known.known));
  }
  Table<OpenCostId, Duration> result;
  for (const OpenCost& item : open.items) {
    if (item.cost || item.failed) {
      result.push_back(item.cost ? *item.cost : Duration::max());
      continue;
    }
    const auto factor = least.find(item.kind);
    const Duration floor = factor == least.end() ? item.floor : scaled(item.floor, factor->second);
    const auto fitted = rooflines.find(item.kind);
    if (fitted == rooflines.end()) {
      result.push_back(floor);
      continue;
    }
    const Duration bound = std::max(floor, fitted->second.bound(item.features, options.caution));
    result.push_back(unknown == Unknown::AtBound ? bound : std::max(bound, fitted->second.expected(item.features)));
  }
  return result;
}

bool is_open(const OpenCosts& open, OpenCostId item) {
  if (!item.is_valid()) return false;
  const OpenCost& cost = open.items[item];
  return !cost.cost && !cost.failed;
}

/// Conversions of one value that the solution uses, as indices of its edges.
std::vector<size_t> edges_used(const ProblemValue& value, FormatId written, const std::set<FormatId>& wanted) {
  std::vector<size_t> used;
  for (const ConversionEdge& edge :
       cheapest_arborescence(value.conversions, written, {wanted.begin(), wanted.end()}).edges) {
    size_t best = value.conversions.size();
    for (size_t e = 0; e < value.conversions.size(); ++e) {
      const ConversionEdge& other = value.conversions[e];
      if (other.from != edge.from || other.to != edge.to) continue;
      if (best == value.conversions.size() || other.cost < value.conversions[best].cost) best = e;
    }
    if (best < value.conversions.size()) used.push_back(best);
  }
  return used;
}

/// At most half as many items of a kind as are known of it, chosen from the items in the placement, the largest and the
/// smallest first: the bounds that follow may show that the placement does not need the others.
std::vector<OpenCostId> worth_asking(const OpenCosts& open, const LazyOptions& options,
                                     const Table<OpenCostId, Duration>& bound, std::vector<OpenCostId> items) {
  std::map<CostKindId, size_t> may_ask;
  for (const auto& [kind, known] : kinds_of(open)) may_ask[kind] = known.known.size();
  std::stable_sort(items.begin(), items.end(), [&](OpenCostId a, OpenCostId b) { return bound[a] > bound[b]; });
  std::map<CostKindId, std::vector<OpenCostId>> of_kind;
  for (OpenCostId i : items) of_kind[open.items[i].kind].push_back(i);
  std::vector<OpenCostId> chosen;
  for (const auto& [kind, sorted] : of_kind) {
    const size_t count = std::min(sorted.size(), std::max(options.least_of_kind, may_ask[kind] / 2));
    for (size_t c = 0; c < count; ++c) chosen.push_back(c % 2 == 0 ? sorted[c / 2] : sorted[sorted.size() - 1 - c / 2]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

void put_costs(const OpenCosts& open, const LazyOptions& options, Unknown unknown, Problem* problem) {
  const Table<OpenCostId, Duration> cost = costs_of(open, options, unknown);
  for (CandidateId c : open.of_candidate.ids()) {
    const OpenCostId item = open.of_candidate[c];
    if (item.is_valid()) problem->candidates[c].cost = Cost::time(cost[item]);
  }
  for (ProblemValueId v : open.of_conversion.ids()) {
    for (size_t e = 0; e < open.of_conversion[v].size(); ++e) {
      const OpenCostId item = open.of_conversion[v][e];
      if (item.is_valid()) problem->values[v].conversions[e].cost = Cost::time(cost[item]);
    }
  }
}

std::vector<OpenCostId> open_items_of(const Problem& problem, const OpenCosts& open, const Solution& solution) {
  std::set<OpenCostId> items;
  Table<ProblemValueId, FormatId> written(problem.values.size(), problem.host_plain);
  Table<ProblemValueId, std::set<FormatId>> wanted(problem.values.size());
  for (CandidateId c : solution.chosen) {
    const Candidate& candidate = problem.candidates[c];
    const OpenCostId item = open.of_candidate[c];
    if (is_open(open, item)) items.insert(item);
    for (const ValueFormat& write : candidate.writes) written[write.value] = write.format;
    for (const ValueFormat& read : candidate.reads) wanted[read.value].insert(read.format);
  }
  for (ProblemValueId v : open.of_conversion.ids()) {
    const std::vector<OpenCostId>& of_edge = open.of_conversion[v];
    if (std::none_of(of_edge.begin(), of_edge.end(), [&](OpenCostId item) { return is_open(open, item); })) continue;
    const ProblemValue& value = problem.values[v];
    if (value.is_output) wanted[v].insert(problem.host_plain);
    for (size_t e : edges_used(value, written[v], wanted[v])) {
      if (is_open(open, of_edge[e])) items.insert(of_edge[e]);
    }
  }
  return {items.begin(), items.end()};
}

namespace {

/// One run of measure_best_plans.
class Asking {
 public:
  Asking(Problem* problem, OpenCosts* open, const SolveForCosts& solve, const AskForCosts& ask,
         const LazyOptions& options)
      : problem_(*problem), open_(*open), solve_(solve), ask_(ask), options_(options) {}

  LazyOutcome run() {
    for (;;) {
      const std::optional<Solution> best = settle(Unknown::AsExpected);
      // Without fits that was by bounds already.
      if (!best || !options_.fits) break;
      const std::vector<OpenCostId> hopeful = hopeful_items(best->cost);
      if (hopeful.empty() || !measure(hopeful)) break;
    }
    put_costs(open_, options_, Unknown::AsExpected, &problem_);
    return outcome_;
  }

 private:
  /// Asks until all of the best placement is known. Nothing: there is no placement, or something failed.
  std::optional<Solution> settle(Unknown unknown) {
    // Any good placement shows what is worth knowing. Only the last search, and those after it shows more, need be
    // exact.
    for (bool is_probe = true;;) {
      put_costs(open_, options_, unknown, &problem_);
      std::optional<Solution> solution = solve_(problem_, is_probe);
      std::vector<OpenCostId> items;
      if (solution) items = open_items_of(problem_, open_, *solution);
      if (items.empty() && !is_probe) {
        outcome_.finished = solution.has_value();
        return solution;
      }
      is_probe = !items.empty();
      if (is_probe && !measure(worth_asking(open_, options_, costs_of(open_, options_, unknown), std::move(items))))
        return std::nullopt;
    }
  }

  /// The unknown items of placements that would cost less than `best` with all unknown costs at their bounds. Empty: no
  /// placement would be better by more than the tolerance.
  std::vector<OpenCostId> hopeful_items(Cost best) {
    put_costs(open_, options_, Unknown::AtBound, &problem_);
    for (const bool is_probe : {true, false}) {
      const std::optional<Solution> solution = solve_(problem_, is_probe);
      if (!solution) continue;
      const Duration gain = (best - solution->cost).time();
      outcome_.could_save = best.time() > Duration() ? std::max(0.0, gain.seconds() / best.time().seconds()) : 0;
      if (outcome_.could_save <= options_.tolerance) continue;
      std::vector<OpenCostId> items = open_items_of(problem_, open_, *solution);
      return worth_asking(open_, options_, costs_of(open_, options_, Unknown::AtBound), most_hopeful(std::move(items)));
    }
    return {};
  }

  /// The items with the largest gaps between bound and expected cost, which together make half of the sum of all gaps.
  std::vector<OpenCostId> most_hopeful(std::vector<OpenCostId> items) const {
    const Table<OpenCostId, Duration> bound = costs_of(open_, options_, Unknown::AtBound);
    const Table<OpenCostId, Duration> expected = costs_of(open_, options_, Unknown::AsExpected);
    const auto slack = [&](OpenCostId item) { return expected[item] - bound[item]; };
    std::stable_sort(items.begin(), items.end(), [&](OpenCostId a, OpenCostId b) { return slack(a) > slack(b); });
    Duration sum, part;
    for (OpenCostId item : items) sum += slack(item);
    size_t count = 0;
    while (count < items.size() && (count == 0 || part < scaled(sum, 0.5))) part += slack(items[count++]);
    items.resize(count);
    return items;
  }

  /// False: something failed.
  bool measure(const std::vector<OpenCostId>& items) {
    const Table<OpenCostId, Duration> bound = costs_of(open_, options_, Unknown::AtBound);
    const std::vector<std::optional<Duration>> answers = ask_(items);
    ++outcome_.rounds;
    outcome_.asked += items.size();
    for (size_t a = 0; a < items.size(); ++a) {
      OpenCost& item = open_.items[items[a]];
      item.cost = answers[a];
      item.failed = !answers[a];
      if (answers[a] && *answers[a] < bound[items[a]]) ++outcome_.below;
      outcome_.finished = outcome_.finished && !item.failed;
    }
    return outcome_.finished;
  }

  Problem& problem_;
  OpenCosts& open_;
  const SolveForCosts& solve_;
  const AskForCosts& ask_;
  const LazyOptions& options_;
  LazyOutcome outcome_;
};

}  // namespace

LazyOutcome measure_best_plans(Problem* problem, OpenCosts* open, const SolveForCosts& solve, const AskForCosts& ask,
                               const LazyOptions& options) {
  return Asking(problem, open, solve, ask, options).run();
}

}  // namespace collage::place
