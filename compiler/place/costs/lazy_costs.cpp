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

/// What the floors of each kind are multiplied by.
std::map<CostKindId, double> factors(const OpenCosts& open, const LazyOptions& options) {
  struct Seen {
    size_t count = 0;
    double least = 0;
  };
  std::map<CostKindId, Seen> seen;
  for (const OpenCost& item : open.items) {
    if (!item.cost || item.floor <= Duration()) continue;
    const double ratio = static_cast<double>(item.cost->ps()) / static_cast<double>(item.floor.ps());
    Seen& kind = seen[item.kind];
    kind.least = kind.count == 0 ? ratio : std::min(kind.least, ratio);
    ++kind.count;
  }
  std::map<CostKindId, double> result;
  for (const auto& [kind, known] : seen) {
    const bool may_raise = known.count >= options.least_of_kind;
    result[kind] = known.least < 1 ? known.least : may_raise ? std::max(1.0, known.least / options.headroom) : 1;
  }
  return result;
}

Table<OpenCostId, Duration> bounds(const OpenCosts& open, const LazyOptions& options) {
  const std::map<CostKindId, double> factor_of = factors(open, options);
  Table<OpenCostId, Duration> result;
  for (const OpenCost& item : open.items) {
    const auto factor = factor_of.find(item.kind);
    result.push_back(item.cost                   ? *item.cost
                     : item.failed               ? Duration::max()
                     : factor == factor_of.end() ? item.floor
                                                 : scaled(item.floor, factor->second));
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

/// With those on the plan the largest of each kind of which nothing is known: its rate says most of the others.
std::vector<OpenCostId> with_largest(const OpenCosts& open, std::vector<OpenCostId> items) {
  std::set<CostKindId> known;
  std::map<CostKindId, OpenCostId> largest;
  for (OpenCostId i : open.items.ids()) {
    const OpenCost& item = open.items[i];
    if (item.cost) known.insert(item.kind);
    if (!is_open(open, i)) continue;
    const auto [at, is_new] = largest.emplace(item.kind, i);
    if (!is_new && open.items[at->second].floor < item.floor) at->second = i;
  }
  std::set<OpenCostId> all(items.begin(), items.end());
  for (OpenCostId i : items) {
    const CostKindId kind = open.items[i].kind;
    if (!known.contains(kind)) all.insert(largest.at(kind));
  }
  return {all.begin(), all.end()};
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
    items = with_largest(*open, std::move(items));
    const Table<OpenCostId, Duration> bound = bounds(*open, options);
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
