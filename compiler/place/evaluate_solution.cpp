// SPDX-License-Identifier: Apache-2.0
// evaluate() of a Solution (evaluate.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "compiler/place/evaluate.h"

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
