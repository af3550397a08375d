// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/memory.h"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/core/checked_size.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// As the arenas count it: every tensor starts at an aligned address.
int64_t device_bytes(size_t bytes) {
  return static_cast<int64_t>(runtime::align_up(std::max<size_t>(1, bytes), runtime::kTensorAlignment));
}

/// Of each value, in the smallest format in which it lies on a device: never more than it takes there, so that what the
/// search proves holds. solve.h counts each format as it is.
std::vector<int64_t> least_device_bytes(const Graph& graph, const BuiltProblem& built) {
  const Problem& problem = built.problem;
  std::vector<std::optional<size_t>> least(problem.values.size());
  for (const Candidate& candidate : problem.candidates) {
    if (problem.owners[static_cast<size_t>(candidate.owner)].instance == "host") continue;
    for (const auto* list : {&candidate.reads, &candidate.writes}) {
      for (const ValueFormat& item : *list) {
        const auto v = static_cast<size_t>(item.value);
        const size_t bytes =
            ir::bytes_in(graph.value(built.values[v]).type, problem.formats[static_cast<size_t>(item.format)]);
        least[v] = std::min(least[v].value_or(bytes), bytes);
      }
    }
  }
  std::vector<int64_t> bytes;
  for (size_t v = 0; v < least.size(); ++v) {
    bytes.push_back(device_bytes(least[v].value_or(graph.value(built.values[v]).type.bytes())));
  }
  return bytes;
}

/// Numbers the constants that nodes read; the result has those of each node.
std::vector<std::vector<int>> number_constants(const Graph& graph, Problem* problem) {
  std::map<ValueId, int> index;
  std::vector<std::vector<int>> constants_of(graph.node_count());
  problem->constant_bytes.clear();
  for (NodeId node : graph.node_ids()) {
    for (ValueId value : graph.node(node).inputs) {
      if (!value.is_valid() || !graph.value(value).is_constant()) continue;
      const auto [it, is_new] = index.emplace(value, static_cast<int>(problem->constant_bytes.size()));
      if (is_new) problem->constant_bytes.push_back(device_bytes(graph.value(value).type.bytes()));
      constants_of[node.slot()].push_back(it->second);
    }
  }
  return constants_of;
}

}  // namespace

void add_memory(const Graph& graph, BuiltProblem* built) {
  Problem& problem = built->problem;
  const std::vector<int64_t> least = least_device_bytes(graph, *built);
  for (size_t v = 0; v < problem.values.size(); ++v) problem.values[v].bytes = least[v];
  const std::vector<std::vector<int>> constants_of = number_constants(graph, &problem);
  for (Candidate& candidate : problem.candidates) {
    candidate.constants.clear();
    // What is split has constants of its own: its shares.
    if (problem.owners[static_cast<size_t>(candidate.owner)].instance == "host" || candidate.split) continue;
    for (int node : candidate.nodes) {
      const std::vector<int>& own = constants_of[static_cast<size_t>(node)];
      candidate.constants.insert(candidate.constants.end(), own.begin(), own.end());
    }
    std::sort(candidate.constants.begin(), candidate.constants.end());
    candidate.constants.erase(std::unique(candidate.constants.begin(), candidate.constants.end()),
                              candidate.constants.end());
  }
}

}  // namespace collage::place
