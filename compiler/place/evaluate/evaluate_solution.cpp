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

/// Cheapest way to grow the set of formats that a value has until it holds all that are wanted: Dijkstra over sets.
Duration growth_cost(const std::vector<ConversionEdge>& edges, FormatId written, const FormatSet& wanted) {
  std::map<FormatSet, Duration> settled;
  std::set<std::pair<Duration, FormatSet>> queue = {{Duration(), {written}}};
  while (!queue.empty()) {
    const auto [cost, have] = *queue.begin();
    queue.erase(queue.begin());
    if (!settled.emplace(have, cost).second) continue;
    if (std::includes(have.begin(), have.end(), wanted.begin(), wanted.end())) return cost;
    for (const ConversionEdge& edge : edges) {
      if (edge.cost >= Duration::max() || !have.contains(edge.from) || have.contains(edge.to)) continue;
      FormatSet more = have;
      more.insert(edge.to);
      queue.emplace(cost + edge.cost, std::move(more));
    }
  }
  return Duration::max();
}

/// Kahn's algorithm over partitions, the one with the smallest node first. Shorter than `chosen` if there is a cycle.
std::vector<size_t> execution_order(const Problem& problem, const std::vector<int>& chosen,
                                    const std::vector<size_t>& partition_of) {
  std::set<std::pair<size_t, size_t>> edges;
  for (const ProblemValue& value : problem.values) {
    if (value.writer < 0) continue;
    const size_t from = partition_of[static_cast<size_t>(value.writer)];
    for (int reader : value.readers) {
      const size_t to = partition_of[static_cast<size_t>(reader)];
      if (from != to) edges.emplace(from, to);
    }
  }
  const auto first_node = [&](size_t p) { return problem.candidates[static_cast<size_t>(chosen[p])].nodes.front(); };
  std::vector<int> waits(chosen.size(), 0);
  for (const auto& edge : edges) ++waits[edge.second];
  std::map<int, size_t> ready;
  for (size_t p = 0; p < chosen.size(); ++p) {
    if (waits[p] == 0) ready.emplace(first_node(p), p);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t p = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(p);
    for (auto it = edges.lower_bound({p, 0}); it != edges.end() && it->first == p; ++it) {
      if (--waits[it->second] == 0) ready.emplace(first_node(it->second), it->second);
    }
  }
  return order;
}

/// Where a value is alive in one instance, as steps.
struct Lifetime {
  size_t first = 0;
  size_t last = 0;
};

/// Follows the execution: values come alive in `instance` and go, as problem.h says.
int64_t peak_memory(const Problem& problem, const std::vector<int>& chosen, const std::vector<size_t>& order,
                    const std::vector<size_t>& partition_of, const std::string& instance) {
  std::vector<size_t> step_of(chosen.size());
  for (size_t step = 0; step < order.size(); ++step) step_of[order[step]] = step;
  const auto is_there = [&](size_t step) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(chosen[order[step]])];
    return problem.owners[static_cast<size_t>(candidate.owner)].instance == instance;
  };
  const auto step_of_node = [&](int node) { return step_of[partition_of[static_cast<size_t>(node)]]; };

  std::multimap<size_t, int64_t> begins, ends;
  for (const ProblemValue& value : problem.values) {
    std::set<size_t> reading;
    for (int reader : value.readers) reading.insert(step_of_node(reader));
    std::optional<Lifetime> alive;
    if (value.writer >= 0 && is_there(step_of_node(value.writer))) {
      const size_t made = step_of_node(value.writer);
      alive = {made, value.is_output ? order.size() - 1 : reading.empty() ? made : *reading.rbegin()};
    } else {
      for (size_t step : reading) {
        if (is_there(step)) alive = {alive ? alive->first : step, step};
      }
    }
    if (!alive) continue;
    begins.emplace(alive->first, value.bytes);
    ends.emplace(alive->last, value.bytes);
  }
  std::set<int> constants;
  for (size_t step = 0; step < order.size(); ++step) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(chosen[order[step]])];
    if (is_there(step)) constants.insert(candidate.constants.begin(), candidate.constants.end());
  }
  int64_t held = 0;
  for (int constant : constants) held += problem.constant_bytes[static_cast<size_t>(constant)];
  int64_t peak = held;
  for (size_t step = 0; step < order.size(); ++step) {
    for (auto [it, end] = begins.equal_range(step); it != end; ++it) held += it->second;
    peak = std::max(peak, held);
    for (auto [it, end] = ends.equal_range(step); it != end; ++it) held -= it->second;
  }
  return peak;
}

std::string broken_memory(const Problem& problem, const std::vector<int>& chosen, const std::vector<size_t>& order,
                          const std::vector<size_t>& partition_of) {
  std::map<std::string, int64_t> limits;
  for (const Owner& owner : problem.owners) {
    if (!owner.memory) continue;
    const auto [it, is_new] = limits.emplace(owner.instance, *owner.memory);
    it->second = std::min(it->second, *owner.memory);
  }
  for (const auto& [instance, limit] : limits) {
    const int64_t peak = peak_memory(problem, chosen, order, partition_of, instance);
    if (peak > limit) return fmt::format("`{}` needs {} bytes of memory and has {}", instance, peak, limit);
  }
  return "";
}

std::string broken_limit(const Problem& problem, const Solution& solution) {
  std::map<std::string, int> counts;
  std::set<int> used;
  for (int c : solution.chosen) {
    const int owner = problem.candidates[static_cast<size_t>(c)].owner;
    used.insert(owner);
    const Owner& counted = problem.owners[static_cast<size_t>(owner)];
    if (counted.max_partitions) ++counts[counted.backend];
  }
  for (int o : used) {
    const Owner& owner = problem.owners[static_cast<size_t>(o)];
    if (owner.max_partitions && counts[owner.backend] > *owner.max_partitions) {
      return fmt::format("{} partitions on `{}`, at most {} are allowed", counts[owner.backend], owner.backend,
                         *owner.max_partitions);
    }
    for (int other : owner.conflicts) {
      if (used.contains(other)) {
        return fmt::format("`{}` and `{}` may not be in one plan", owner.backend,
                           problem.owners[static_cast<size_t>(other)].backend);
      }
    }
  }
  return "";
}

/// Takes regions away that wait for no other, until none is left.
bool is_acyclic(const Problem& problem, const std::vector<size_t>& region_of, size_t count) {
  std::set<std::pair<size_t, size_t>> edges;
  for (const ProblemValue& value : problem.values) {
    for (int reader : value.readers) {
      if (value.writer < 0) continue;
      const size_t from = region_of[static_cast<size_t>(value.writer)], to = region_of[static_cast<size_t>(reader)];
      if (from != to) edges.emplace(from, to);
    }
  }
  std::vector<int> waits(count, 0);
  for (const auto& edge : edges) ++waits[edge.second];
  std::vector<size_t> ready;
  for (size_t r = 0; r < count; ++r) {
    if (waits[r] == 0) ready.push_back(r);
  }
  size_t run = 0;
  for (; !ready.empty(); ++run) {
    const size_t r = ready.back();
    ready.pop_back();
    for (auto it = edges.lower_bound({r, 0}); it != edges.end() && it->first == r; ++it) {
      if (--waits[it->second] == 0) ready.push_back(it->second);
    }
  }
  return run == count;
}

/// What the regions of a solution save, or what is wrong with them. `partition_of`: the place in `chosen`, by node.
class Regions {
 public:
  Regions(const Problem& problem, const Solution& solution, const std::vector<size_t>& partition_of)
      : problem_(problem), solution_(solution), partition_of_(partition_of) {
    for (size_t p = 0; p < solution.region.size(); ++p) members_[solution.region[p]].push_back(p);
  }

  std::variant<Duration, std::string> judge() const {
    if (solution_.region.empty()) return Duration();
    if (solution_.region.size() != solution_.chosen.size()) return std::string("not every candidate has a region");
    Duration saved;
    for (const auto& [region, members] : members_) {
      if (members.size() == 1) continue;
      const Owner& owner = problem_.owners[static_cast<size_t>(candidate(members.front()).owner)];
      for (size_t p : members) {
        if (candidate(p).owner != candidate(members.front()).owner) return std::string("a region has two owners");
        if (!candidate(p).may_join || !owner.joins) return fmt::format("candidate {} is no unit of a region", p);
      }
      if (std::string reason = check_formats(members); !reason.empty()) return reason;
      for (size_t i = 1; i < members.size(); ++i) saved += *owner.joins;
    }
    std::vector<size_t> region_of;
    std::map<int, size_t> index;
    for (size_t p : partition_of_) region_of.push_back(index.emplace(solution_.region[p], index.size()).first->second);
    if (!is_acyclic(problem_, region_of, index.size())) return std::string("the regions form a cycle");
    return saved;
  }

 private:
  const Candidate& candidate(size_t p) const { return problem_.candidates[static_cast<size_t>(solution_.chosen[p])]; }

  static FormatSet formats_of(const std::vector<ValueFormat>& list, int value) {
    FormatSet formats;
    for (const ValueFormat& item : list) {
      if (item.value == value) formats.insert(item.format);
    }
    return formats;
  }

  /// Every two units agree on what both touch; all hang together by what they exchange.
  std::string check_formats(const std::vector<size_t>& members) const {
    std::set<size_t> reached = {members.front()};
    for (bool grew = true; grew;) {
      grew = false;
      for (size_t a : members) {
        for (size_t b : members) {
          if (a == b || !exchange(a, b)) continue;
          if (reached.contains(a) == reached.contains(b)) continue;
          reached.insert({a, b});
          grew = true;
        }
      }
    }
    if (reached.size() != members.size()) return "a region is not connected";
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      FormatSet all;
      int touching = 0;
      for (size_t p : members) {
        FormatSet formats = formats_of(candidate(p).reads, static_cast<int>(v));
        formats.merge(formats_of(candidate(p).writes, static_cast<int>(v)));
        if (!formats.empty()) ++touching;
        all.merge(formats);
      }
      if (touching > 1 && all.size() > 1) return fmt::format("a region touches value {} in two formats", v);
    }
    return "";
  }

  /// `a` writes what `b` reads.
  bool exchange(size_t a, size_t b) const {
    return std::any_of(candidate(a).writes.begin(), candidate(a).writes.end(), [&](const ValueFormat& write) {
      return formats_of(candidate(b).reads, write.value) == FormatSet{write.format};
    });
  }

  const Problem& problem_;
  const Solution& solution_;
  const std::vector<size_t>& partition_of_;
  std::map<int, std::vector<size_t>> members_;
};

}  // namespace

Verdict evaluate(const Problem& problem, const Solution& solution) {
  const size_t none = solution.chosen.size();
  std::vector<size_t> partition_of(static_cast<size_t>(problem.node_count), none);
  Duration total;
  for (size_t p = 0; p < solution.chosen.size(); ++p) {
    const Candidate& candidate = problem.candidates[static_cast<size_t>(solution.chosen[p])];
    total += candidate.cost;
    for (int node : candidate.nodes) {
      size_t& partition = partition_of[static_cast<size_t>(node)];
      if (partition != none) return fmt::format("node {} is covered twice", node);
      partition = p;
    }
  }
  for (size_t node = 0; node < partition_of.size(); ++node) {
    if (partition_of[node] == none) return fmt::format("node {} is not covered", node);
  }
  const std::vector<size_t> order = execution_order(problem, solution.chosen, partition_of);
  if (order.size() != none) return std::string("the partitions form a cycle");
  if (std::string reason = broken_limit(problem, solution); !reason.empty()) return reason;
  if (std::string reason = broken_memory(problem, solution.chosen, order, partition_of); !reason.empty()) return reason;
  const std::variant<Duration, std::string> saved = Regions(problem, solution, partition_of).judge();
  if (const auto* reason = std::get_if<std::string>(&saved)) return *reason;
  total -= std::get<Duration>(saved);

  for (size_t v = 0; v < problem.values.size(); ++v) {
    const ProblemValue& value = problem.values[v];
    FormatSet wanted;
    if (value.is_output) wanted.insert(problem.host_plain);
    FormatId written = problem.host_plain;
    bool is_written = value.writer < 0;
    for (size_t p = 0; p < solution.chosen.size(); ++p) {
      const Candidate& candidate = problem.candidates[static_cast<size_t>(solution.chosen[p])];
      if (value.writer >= 0 && partition_of[static_cast<size_t>(value.writer)] == p) {
        for (const ValueFormat& write : candidate.writes) {
          if (write.value != static_cast<int>(v)) continue;
          written = write.format;
          is_written = true;
        }
        continue;
      }
      const bool reads = std::any_of(value.readers.begin(), value.readers.end(),
                                     [&](int reader) { return partition_of[static_cast<size_t>(reader)] == p; });
      if (!reads) continue;
      for (const ValueFormat& read : candidate.reads) {
        if (read.value == static_cast<int>(v)) wanted.insert(read.format);
      }
    }
    if (wanted.empty()) continue;
    if (!is_written) return fmt::format("value {} is read outside and not written", v);
    const Duration cost = growth_cost(value.conversions, written, wanted);
    if (cost >= Duration::max()) return fmt::format("value {} cannot have all the formats it is read in", v);
    total += cost;
  }
  return total;
}

}  // namespace collage::place
