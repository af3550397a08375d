// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/live_values.h"

#include <algorithm>

namespace collage::place {
namespace {

/// Marks `from` and all that `next` leads to.
Table<NodeId, char> reached(const Table<NodeId, std::vector<NodeId>>& next, NodeId from) {
  Table<NodeId, char> seen(next.size(), 0);
  std::vector<NodeId> todo = {from};
  seen[from] = 1;
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    for (NodeId other : next[node]) {
      if (seen[other] == 0) todo.push_back(other);
      seen[other] = 1;
    }
  }
  return seen;
}

/// Bytes, negative, that marked values hold at each node of the order of nodes, which is a topological one; most first.
std::vector<std::pair<int64_t, NodeId>> held_in_order(const Problem& problem,
                                                      const Table<ProblemValueId, char>& is_held) {
  Table<NodeId, int64_t> change(problem.node_count + 1, 0);
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    if (!value.writer.is_valid() || is_held[v] == 0) continue;
    const NodeId last = value.readers.empty() ? value.writer : std::max(value.writer, value.readers.back());
    change[value.writer] += value.bytes;
    if (!value.is_output) change[advance(last, 1)] -= value.bytes;
  }
  std::vector<std::pair<int64_t, NodeId>> held;
  int64_t now = 0;
  for (NodeId node : problem.nodes()) {
    now += change[node];
    if (now > 0) held.emplace_back(-now, node);
  }
  std::sort(held.begin(), held.end());
  return held;
}

}  // namespace

std::vector<ValueAcross> values_across(const Problem& problem, const NodeGraph& graph, NodeId node) {
  const Table<NodeId, char> before = reached(graph.predecessors, node);
  const Table<NodeId, char> after = reached(graph.successors, node);
  std::vector<ValueAcross> across;
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    if (!value.writer.is_valid() || before[value.writer] == 0) continue;
    const bool is_held =
        value.is_output || value.writer == node ||
        std::any_of(value.readers.begin(), value.readers.end(), [&](NodeId reader) { return after[reader] != 0; });
    if (!is_held) continue;
    across.push_back({v});
    for (NodeId reader : value.readers) {
      if (after[reader] == 0) across.back().early.push_back(reader);
    }
  }
  return across;
}

Sides sides_by_paths(const NodeGraph& graph, NodeId node) {
  return {reached(graph.predecessors, node), reached(graph.successors, node)};
}

Sides sides_of_run(size_t node_count, NodeId node, const std::vector<NodeId>& earlier) {
  Sides sides{Table<NodeId, char>(node_count, 0), Table<NodeId, char>(node_count, 1)};
  for (NodeId other : earlier) {
    if (node < other) continue;
    sides.is_before[other] = 1;
    sides.is_after[other] = 0;
  }
  sides.is_before[node] = sides.is_after[node] = 1;
  return sides;
}

std::vector<ValueBeside> values_beside(const Problem& problem, NodeId node, const Sides& sides) {
  std::vector<ValueBeside> all;
  for (ProblemValueId v : problem.values.ids()) {
    const ProblemValue& value = problem.values[v];
    ValueBeside beside{v};
    for (NodeId reader : value.readers) {
      if (sides.is_before[reader] != 0) beside.before.push_back(reader);
      if (sides.is_after[reader] != 0) beside.late.push_back(reader);
    }
    const bool is_there = !beside.before.empty() || (value.writer.is_valid() && sides.is_before[value.writer] != 0);
    const bool is_needed = !beside.late.empty() || value.is_output || value.writer == node;
    if (is_there && is_needed) all.push_back(std::move(beside));
  }
  return all;
}

std::vector<NodeId> busiest_nodes(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory,
                                  MemoryLimits::InstanceId instance, const std::vector<CandidateId>& chosen,
                                  const std::vector<NodeId>& known, size_t count) {
  constexpr size_t kMostLookedAt = 256;
  constexpr size_t kDistance = 64;  // this part of all nodes lies between two at least
  Table<NodeId, char> is_there(problem.node_count, 0);
  Table<ProblemValueId, char> is_held(problem.values.size(), 0);
  for (CandidateId c : chosen) {
    if (memory.instance_of(c) != instance) continue;
    const Candidate& candidate = problem.candidates[c];
    for (NodeId node : candidate.nodes) is_there[node] = 1;
    for (const ValueFormat& write : candidate.writes) is_held[write.value] = 1;
    for (ProblemValueId v : candidate.kept) is_held[v] = 1;
  }
  using Held = std::vector<std::pair<int64_t, NodeId>>;  // most first
  Held held = held_in_order(problem, is_held);
  if (held.size() > kMostLookedAt) held.resize(kMostLookedAt);
  for (auto& [bytes, node] : held) {
    bytes = 0;
    for (const ValueAcross& across : values_across(problem, graph, node)) {
      const bool stays =
          std::all_of(across.early.begin(), across.early.end(), [&](NodeId reader) { return is_there[reader] != 0; });
      if (is_held[across.value] != 0 && stays) bytes -= problem.values[across.value].bytes;
    }
  }
  std::sort(held.begin(), held.end());
  std::vector<NodeId> busiest;
  for (const auto& [bytes, node] : held) {
    if (busiest.size() == count) break;
    const auto is_near = [&, node = node](NodeId other) {
      const size_t apart = node < other ? other.slot() - node.slot() : node.slot() - other.slot();
      return apart * kDistance < problem.node_count;
    };
    if (std::any_of(busiest.begin(), busiest.end(), is_near) || std::any_of(known.begin(), known.end(), is_near)) {
      continue;
    }
    busiest.push_back(node);
  }
  return busiest;
}

}  // namespace collage::place
