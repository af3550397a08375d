// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/memory.h"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/core/checked_size.h"
#include "runtime/core/host_space.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// As the arenas count it: every tensor starts at an aligned address.
int64_t device_bytes(size_t bytes) {
  return static_cast<int64_t>(runtime::align_up(std::max<size_t>(1, bytes), runtime::kTensorAlignment));
}

/// The memory of one host has no limit; those of a cluster may.
bool is_counted(const BuiltProblem& built, const Candidate& candidate) {
  return built.has_cluster || !runtime::is_host_space(built.problem.owners[candidate.owner].instance);
}

/// Of each value, in the smallest format in which it lies where memory counts: never more than it takes there, so that
/// what the search proves holds. solve.h counts each format as it is.
Table<ProblemValueId, int64_t> least_device_bytes(const Graph& graph, const BuiltProblem& built) {
  const Problem& problem = built.problem;
  Table<ProblemValueId, std::optional<size_t>> least(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    if (!is_counted(built, candidate)) continue;
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const ir::TensorType& type = graph.value(built.values[item.value]).type;
        const size_t bytes = ir::bytes_in(type, problem.formats[item.format]);
        least[item.value] = std::min(least[item.value].value_or(bytes), bytes);
      }
    }
  }
  Table<ProblemValueId, int64_t> bytes;
  for (ProblemValueId v : least.ids()) {
    bytes.push_back(device_bytes(least[v].value_or(graph.value(built.values[v]).type.bytes())));
  }
  return bytes;
}

/// Numbers the constants that nodes read; the result has those of each node.
Table<NodeId, std::vector<ConstantId>> number_constants(const Graph& graph, Problem* problem) {
  std::map<ValueId, ConstantId> known;
  Table<NodeId, std::vector<ConstantId>> constants_of(graph.node_count());
  problem->constant_bytes.clear();
  for (NodeId node : graph.node_ids()) {
    for (ValueId value : graph.node(node).inputs) {
      if (!value.is_valid() || !graph.value(value).is_constant()) continue;
      const auto [it, is_new] = known.emplace(value, problem->constant_bytes.next_id());
      if (is_new) problem->constant_bytes.push_back(device_bytes(graph.value(value).type.bytes()));
      constants_of[node].push_back(it->second);
    }
  }
  return constants_of;
}

}  // namespace

void add_memory(const Graph& graph, BuiltProblem* built) {
  Problem& problem = built->problem;
  const Table<ProblemValueId, int64_t> least = least_device_bytes(graph, *built);
  for (ProblemValueId v : problem.values.ids()) problem.values[v].bytes = least[v];
  const Table<NodeId, std::vector<ConstantId>> constants_of = number_constants(graph, &problem);
  for (Candidate& candidate : problem.candidates) {
    candidate.constants.clear();
    // What is split has constants of its own: its shares.
    if (!is_counted(*built, candidate) || candidate.split) continue;
    for (NodeId node : candidate.nodes) {
      const std::vector<ConstantId>& own = constants_of[node];
      candidate.constants.insert(candidate.constants.end(), own.begin(), own.end());
    }
    std::sort(candidate.constants.begin(), candidate.constants.end());
    candidate.constants.erase(std::unique(candidate.constants.begin(), candidate.constants.end()),
                              candidate.constants.end());
  }
}

}  // namespace collage::place
