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

Table<OpenCostId, Duration> bounds(const OpenCosts& open, const LazyOptions& options) {
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
    result.push_back(fitted == rooflines.end() ? floor
                                               : std::max(floor, fitted->second.bound(item.features, options.caution)));
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

/// Of the items on the plan no more of a kind than half of what is known of it, the largest and the smallest first: the bounds that follow
/// may show that the plan does not need the others.
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

void put_costs(const OpenCosts& open, const LazyOptions& options, Problem* problem) {
  const Table<OpenCostId, Duration> cost = bounds(open, options);
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

LazyOutcome measure_best_plans(Problem* problem, OpenCosts* open, const SolveForCosts& solve, const AskForCosts& ask,
                               const LazyOptions& options) {
  LazyOutcome outcome;
  // Any good plan shows what is worth knowing. Only the last search, and those after it shows more, need be exact.
  for (bool is_probe = true;;) {
    put_costs(*open, options, problem);
    const std::optional<Solution> solution = solve(*problem, is_probe);
    std::vector<OpenCostId> items;
    if (solution) items = open_items_of(*problem, *open, *solution);
    if (items.empty()) {
      if (is_probe) {
        is_probe = false;
        continue;
      }
      outcome.finished = solution.has_value();
      return outcome;
    }
    is_probe = true;
    const Table<OpenCostId, Duration> bound = bounds(*open, options);
    items = worth_asking(*open, options, bound, std::move(items));
    const std::vector<std::optional<Duration>> answers = ask(items);
    ++outcome.rounds;
    outcome.asked += items.size();
    for (size_t a = 0; a < items.size(); ++a) {
      OpenCost& item = open->items[items[a]];
      item.cost = answers[a];
      item.failed = !answers[a];
      if (answers[a] && *answers[a] < bound[items[a]]) ++outcome.below;
      outcome.finished = outcome.finished && !item.failed;
    }
    if (outcome.finished) continue;
    put_costs(*open, options, problem);
    return outcome;
  }
}

}  // namespace collage::place
