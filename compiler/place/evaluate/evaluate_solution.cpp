// SPDX-License-Identifier: Apache-2.0
// evaluate() of a Solution (evaluate.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/place/evaluate/evaluate.h"

namespace collage::place {
namespace {

using FormatSet = std::set<FormatId>;
/// A chosen candidate, by its place in the solution.
using EvaluatedPart = Id<struct EvaluatedPartTag>;
using EvaluatedParts = Table<EvaluatedPart, CandidateId>;
/// In the order of execution.
using EvaluatedStep = Id<struct EvaluatedStepTag>;
using EvaluatedSteps = Table<EvaluatedStep, EvaluatedPart>;

/// More wanted formats than this have too many sets.
constexpr size_t kMostGrown = 12;

/// From a format that is there.
struct Way {
  Cost cost;
  int length = 0;
  FormatId format;

  friend auto operator<=>(const Way&, const Way&) = default;
};

/// As placements are written where so many formats are wanted: a way to the nearest one that is missing, again and
/// again.
Cost nearest_growth(const std::vector<ConversionEdge>& edges, FormatId written, FormatSet missing) {
  std::map<FormatId, std::vector<const ConversionEdge*>> from;
  for (const ConversionEdge& edge : edges) from[edge.from].push_back(&edge);
  std::map<FormatId, Way> best;                    // from what is there
  std::map<FormatId, const ConversionEdge*> last;  // of that way
  std::set<Way> open = {{Cost(), 0, written}};
  best[written] = *open.begin();
  missing.erase(written);
  Cost total;
  while (!open.empty() && !missing.empty()) {
    const Way way = *open.begin();
    open.erase(open.begin());
    if (missing.contains(way.format)) {
      total += way.cost;
      for (FormatId at = way.format; last.contains(at);) {
        const FormatId before = last[at]->from;
        open.erase(best[at]);
        best[at] = {Cost(), 0, at};
        open.insert(best[at]);
        missing.erase(at);
        last.erase(at);
        at = before;
      }
      continue;
    }
    for (const ConversionEdge* edge : from[way.format]) {
      if (edge->cost >= Cost::max()) continue;
      const Way next = {way.cost + edge->cost, way.length + 1, edge->to};
      const auto known = best.find(edge->to);
      if (known != best.end() && known->second <= next) continue;
      if (known != best.end()) open.erase(known->second);
      best[edge->to] = next;
      last[edge->to] = edge;
      open.insert(next);
    }
  }
  return missing.empty() ? total : Cost::max();
}

/// Cheapest way to grow the set of formats that a value has until it holds all that are wanted: Dijkstra over sets.
Cost growth_cost(const std::vector<ConversionEdge>& edges, FormatId written, const FormatSet& wanted) {
  if (wanted.size() > kMostGrown) return nearest_growth(edges, written, wanted);
  std::map<FormatSet, Cost> settled;
  std::set<std::pair<Cost, FormatSet>> queue = {{Cost(), {written}}};
  while (!queue.empty()) {
    const auto [cost, have] = *queue.begin();
    queue.erase(queue.begin());
    if (!settled.emplace(have, cost).second) continue;
    if (std::includes(have.begin(), have.end(), wanted.begin(), wanted.end())) return cost;
    for (const ConversionEdge& edge : edges) {
      if (edge.cost >= Cost::max() || !have.contains(edge.from) || have.contains(edge.to)) continue;
      FormatSet more = have;
      more.insert(edge.to);
      queue.emplace(cost + edge.cost, std::move(more));
    }
  }
  return Cost::max();
}

/// Kahn's algorithm over partitions, the one with the smallest node first. Shorter than `chosen` if there is a cycle.
EvaluatedSteps execution_order(const Problem& problem, const EvaluatedParts& chosen,
                               const Table<NodeId, EvaluatedPart>& part_of) {
  std::set<std::pair<EvaluatedPart, EvaluatedPart>> edges;
  for (const ProblemValue& value : problem.values) {
    if (!value.writer.is_valid()) continue;
    const EvaluatedPart from = part_of[value.writer];
    for (NodeId reader : value.readers) {
      const EvaluatedPart to = part_of[reader];
      if (from != to) edges.emplace(from, to);
    }
  }
  const auto first_node = [&](EvaluatedPart p) { return problem.candidates[chosen[p]].nodes.front(); };
  Table<EvaluatedPart, size_t> waits(chosen.size());
  for (const auto& edge : edges) ++waits[edge.second];
  std::map<NodeId, EvaluatedPart> ready;
  for (EvaluatedPart p : chosen.ids()) {
    if (waits[p] == 0) ready.emplace(first_node(p), p);
  }
  EvaluatedSteps order;
  while (!ready.empty()) {
    const EvaluatedPart p = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(p);
    for (auto it = edges.lower_bound({p, EvaluatedPart(0)}); it != edges.end() && it->first == p; ++it) {
      if (--waits[it->second] == 0) ready.emplace(first_node(it->second), it->second);
    }
  }
  return order;
}

/// Follows the execution node by node, and adds up what `instance` holds then, as problem.h says.
int64_t peak_memory(const Problem& problem, const EvaluatedParts& chosen, const EvaluatedSteps& order,
                    const Table<NodeId, EvaluatedPart>& part_of, const std::string& instance) {
  Table<EvaluatedPart, EvaluatedStep> step_of(chosen.size());
  for (EvaluatedStep step : order.ids()) step_of[order[step]] = step;
  const auto is_there = [&](EvaluatedPart part) {
    return problem.owners[problem.candidates[chosen[part]].owner].instance == instance;
  };
  // A node as its step and itself: in the order of execution.
  using Moment = std::pair<EvaluatedStep, NodeId>;
  const auto moment_of = [&](NodeId node) { return Moment(step_of[part_of[node]], node); };

  std::multimap<Moment, int64_t> begins, ends;
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    std::set<Moment> here, elsewhere;
    for (NodeId reader : value.readers) (is_there(part_of[reader]) ? here : elsewhere).insert(moment_of(reader));
    std::optional<Moment> first, last;
    if (!here.empty()) last = *here.rbegin();
    if (!value.writer.is_valid() || !is_there(part_of[value.writer])) {
      // The value arrives when the first candidate here that reads it begins.
      if (last) first = Moment(here.begin()->first, NodeId(0));
    } else {
      const Candidate& maker = problem.candidates[chosen[part_of[value.writer]]];
      const auto is_it = [&](const ValueFormat& write) { return write.value == v; };
      const bool leaves = std::any_of(maker.writes.begin(), maker.writes.end(), is_it);
      if (!leaves && std::find(maker.kept.begin(), maker.kept.end(), v) == maker.kept.end()) continue;
      first = moment_of(value.writer);
      last = std::max(last.value_or(*first), *first);
      if (!elsewhere.empty()) {
        // The value is copied before the first reader elsewhere begins.
        last = std::max(*last, Moment(advance(elsewhere.begin()->first, -1), problem.nodes().last_plus_one()));
      } else if (value.is_output) {
        last = Moment(order.next_id(), NodeId(0));
      }
    }
    if (!first) continue;
    begins.emplace(*first, value.bytes);
    ends.emplace(*last, value.bytes);
  }
  std::set<ConstantId> constants;
  for (CandidateId c : chosen) {
    const Candidate& candidate = problem.candidates[c];
    if (problem.owners[candidate.owner].instance == instance) {
      constants.insert(candidate.constants.begin(), candidate.constants.end());
    }
  }
  int64_t held = 0;
  for (ConstantId constant : constants) held += problem.constant_bytes[constant];
  int64_t peak = held;
  auto begin = begins.begin();
  auto end = ends.begin();
  for (EvaluatedStep step : order.ids()) {
    for (NodeId node : problem.candidates[chosen[order[step]]].nodes) {
      const Moment now(step, node);
      for (; end != ends.end() && end->first < now; ++end) held -= end->second;
      for (; begin != begins.end() && begin->first <= now; ++begin) held += begin->second;
      peak = std::max(peak, held);
    }
  }
  return peak;
}

std::string broken_memory(const Problem& problem, const EvaluatedParts& chosen, const EvaluatedSteps& order,
                          const Table<NodeId, EvaluatedPart>& part_of) {
  std::map<std::string, int64_t> limits;
  for (const Owner& owner : problem.owners) {
    if (!owner.memory) continue;
    const auto [it, is_new] = limits.emplace(owner.instance, *owner.memory);
    it->second = std::min(it->second, *owner.memory);
  }
  std::set<std::string> used;  // others hold nothing
  for (CandidateId c : chosen) used.insert(problem.owners[problem.candidates[c].owner].instance);
  for (const auto& [instance, limit] : limits) {
    if (!used.contains(instance)) continue;
    const int64_t peak = peak_memory(problem, chosen, order, part_of, instance);
    if (peak > limit) return fmt::format("`{}` needs {} bytes of memory and has {}", instance, peak, limit);
  }
  return "";
}

std::string broken_limit(const Problem& problem, const Solution& solution) {
  std::map<std::string, int> counts;
  std::set<OwnerId> used;
  for (CandidateId c : solution.chosen) {
    const OwnerId owner = problem.candidates[c].owner;
    used.insert(owner);
    const Owner& counted = problem.owners[owner];
    if (counted.max_partitions) ++counts[counted.backend];
  }
  for (OwnerId o : used) {
    const Owner& owner = problem.owners[o];
    if (owner.max_partitions && counts[owner.backend] > *owner.max_partitions) {
      return fmt::format("{} partitions on `{}`, at most {} are allowed", counts[owner.backend], owner.backend,
                         *owner.max_partitions);
    }
    for (OwnerId other : owner.conflicts) {
      if (used.contains(other)) {
        return fmt::format("`{}` and `{}` may not be in one plan", owner.backend, problem.owners[other].backend);
      }
    }
  }
  return "";
}

/// Takes regions away that wait for no other, until none is left.
bool is_acyclic(const Problem& problem, const Table<NodeId, RegionId>& region_of, size_t count) {
  std::set<std::pair<RegionId, RegionId>> edges;
  for (const ProblemValue& value : problem.values) {
    for (NodeId reader : value.readers) {
      if (!value.writer.is_valid()) continue;
      const RegionId from = region_of[value.writer], to = region_of[reader];
      if (from != to) edges.emplace(from, to);
    }
  }
  Table<RegionId, size_t> waits(count);
  for (const auto& edge : edges) ++waits[edge.second];
  std::vector<RegionId> ready;
  for (RegionId r : waits.ids()) {
    if (waits[r] == 0) ready.push_back(r);
  }
  size_t run = 0;
  for (; !ready.empty(); ++run) {
    const RegionId r = ready.back();
    ready.pop_back();
    for (auto it = edges.lower_bound({r, RegionId(0)}); it != edges.end() && it->first == r; ++it) {
      if (--waits[it->second] == 0) ready.push_back(it->second);
    }
  }
  return run == count;
}

/// What the regions of a solution save, or what is wrong with them.
class Regions {
 public:
  Regions(const Problem& problem, const EvaluatedParts& chosen, const Table<EvaluatedPart, RegionId>& region,
          const Table<NodeId, EvaluatedPart>& part_of)
      : problem_(problem), chosen_(chosen), region_(region), part_of_(part_of) {
    for (EvaluatedPart p : region.ids()) members_[region[p]].push_back(p);
  }

  std::variant<Cost, std::string> judge() const {
    if (region_.empty()) return Cost();
    if (region_.size() != chosen_.size()) return std::string("not every candidate has a region");
    Cost saved;
    for (const auto& [region, members] : members_) {
      if (members.size() == 1) continue;
      const Owner& owner = problem_.owners[candidate(members.front()).owner];
      for (EvaluatedPart p : members) {
        if (candidate(p).owner != candidate(members.front()).owner) return std::string("a region has two owners");
        if (!candidate(p).may_join || !owner.joins) return fmt::format("candidate {} is no unit of a region", p.index);
      }
      if (std::string reason = check_formats(members); !reason.empty()) return reason;
      for (size_t i = 1; i < members.size(); ++i) saved += *owner.joins;
    }
    Table<NodeId, RegionId> region_of;
    std::map<RegionId, RegionId> index;  // without gaps
    for (EvaluatedPart p : part_of_)
      region_of.push_back(index.emplace(region_[p], RegionId(index.size())).first->second);
    if (!is_acyclic(problem_, region_of, index.size())) return std::string("the regions form a cycle");
    return saved;
  }

 private:
  const Candidate& candidate(EvaluatedPart p) const { return problem_.candidates[chosen_[p]]; }

  /// Every two units agree on what both touch; all hang together by what they exchange.
  std::string check_formats(const std::vector<EvaluatedPart>& members) const {
    std::map<ProblemValueId, FormatSet> all;
    std::map<ProblemValueId, std::set<EvaluatedPart>> touching;
    std::map<ValueFormat, std::vector<EvaluatedPart>> writers;
    for (EvaluatedPart p : members) {
      for (const auto* list : {&candidate(p).reads, &candidate(p).writes}) {
        for (const ValueFormat& item : *list) {
          all[item.value].insert(item.format);
          touching[item.value].insert(p);
        }
      }
      for (const ValueFormat& write : candidate(p).writes) writers[write].push_back(p);
    }
    // Both ways between a unit that writes and one that reads just that.
    std::map<EvaluatedPart, std::vector<EvaluatedPart>> next;
    for (EvaluatedPart p : members) {
      std::map<ProblemValueId, FormatSet> reads;
      for (const ValueFormat& read : candidate(p).reads) reads[read.value].insert(read.format);
      for (const auto& [value, formats] : reads) {
        if (formats.size() > 1) continue;
        const auto written = writers.find({value, *formats.begin()});
        if (written == writers.end()) continue;
        for (EvaluatedPart writer : written->second) {
          next[p].push_back(writer);
          next[writer].push_back(p);
        }
      }
    }
    std::set<EvaluatedPart> reached = {members.front()};
    std::vector<EvaluatedPart> open = {members.front()};
    while (!open.empty()) {
      const EvaluatedPart p = open.back();
      open.pop_back();
      for (EvaluatedPart other : next[p]) {
        if (reached.insert(other).second) open.push_back(other);
      }
    }
    if (reached.size() != members.size()) return "a region is not connected";
    for (const auto& [value, parts] : touching) {
      if (parts.size() > 1 && all[value].size() > 1) {
        return fmt::format("a region touches value {} in two formats", value.index);
      }
    }
    return "";
  }

  const Problem& problem_;
  const EvaluatedParts& chosen_;
  const Table<EvaluatedPart, RegionId>& region_;
  const Table<NodeId, EvaluatedPart>& part_of_;
  std::map<RegionId, std::vector<EvaluatedPart>> members_;
};

}  // namespace

Verdict evaluate(const Problem& problem, const Solution& solution) {
  const EvaluatedParts chosen(solution.chosen);
  Table<NodeId, EvaluatedPart> part_of(problem.node_count);
  Cost total = problem.cost_of(0);
  for (EvaluatedPart p : chosen.ids()) {
    const Candidate& candidate = problem.candidates[chosen[p]];
    total += candidate.cost;
    for (NodeId node : candidate.nodes) {
      if (part_of[node].is_valid()) return fmt::format("node {} is covered twice", node.index);
      part_of[node] = p;
    }
  }
  for (NodeId node : problem.nodes()) {
    if (!part_of[node].is_valid()) return fmt::format("node {} is not covered", node.index);
  }
  const EvaluatedSteps order = execution_order(problem, chosen, part_of);
  if (order.size() != chosen.size()) return std::string("the partitions form a cycle");
  if (std::string reason = broken_limit(problem, solution); !reason.empty()) return reason;
  if (std::string reason = broken_memory(problem, chosen, order, part_of); !reason.empty()) return reason;
  const Table<EvaluatedPart, RegionId> region(solution.region);
  const std::variant<Cost, std::string> saved = Regions(problem, chosen, region, part_of).judge();
  if (const auto* reason = std::get_if<std::string>(&saved)) return *reason;
  total -= std::get<Cost>(saved);

  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    FormatSet wanted;
    if (value.is_output) wanted.insert(problem.host_plain);
    FormatId written = problem.host_plain;
    bool is_written = !value.writer.is_valid();
    for (EvaluatedPart p : chosen.ids()) {
      const Candidate& candidate = problem.candidates[chosen[p]];
      if (value.writer.is_valid() && part_of[value.writer] == p) {
        for (const ValueFormat& write : candidate.writes) {
          if (write.value != v) continue;
          written = write.format;
          is_written = true;
        }
        continue;
      }
      const bool reads =
          std::any_of(value.readers.begin(), value.readers.end(), [&](NodeId reader) { return part_of[reader] == p; });
      if (!reads) continue;
      for (const ValueFormat& read : candidate.reads) {
        if (read.value == v) wanted.insert(read.format);
      }
    }
    if (wanted.empty()) continue;
    if (!is_written) return fmt::format("value {} is read outside and not written", v.index);
    const Cost cost = growth_cost(value.conversions, written, wanted);
    if (cost >= Cost::max()) return fmt::format("value {} cannot have all the formats it is read in", v.index);
    total += cost;
  }
  return total;
}

}  // namespace collage::place
