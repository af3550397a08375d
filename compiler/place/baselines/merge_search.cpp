// SPDX-License-Identifier: Apache-2.0
// See merge_search.h.
#include "compiler/place/baselines/merge_search.h"

#include <algorithm>
#include <map>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"

namespace collage::place {
namespace {

/// The first owner that has a node alone, if one has.
Table<NodeId, OwnerId> annotate(const Problem& problem) {
  const auto rank = [&](OwnerId owner) { return std::pair(problem.owners[owner].backend == kHostBackend, owner); };
  Table<NodeId, OwnerId> owners(problem.node_count);
  for (const Candidate& candidate : problem.candidates) {
    if (candidate.nodes.size() != 1 || candidate.cost >= Cost::max()) continue;
    OwnerId& owner = owners[candidate.nodes.front()];
    if (!owner.is_valid() || rank(candidate.owner) < rank(owner)) owner = candidate.owner;
  }
  return owners;
}

Table<NodeId, MergedRegionId> regions_of(const Problem& problem, const Table<NodeId, OwnerId>& owners) {
  const NodeGraph graph = node_graph(problem);
  Blocks blocks(graph);
  join_with_writers(graph, owners, blocks);
  std::map<BlockId, MergedRegionId> numbers;
  Table<NodeId, MergedRegionId> regions(problem.node_count);
  for (NodeId node : regions.ids()) {
    if (!owners[node].is_valid()) continue;
    regions[node] = numbers.emplace(blocks.of(node), MergedRegionId(numbers.size())).first->second;
  }
  return regions;
}

}  // namespace

void join_with_writers(const NodeGraph& graph, const Table<NodeId, OwnerId>& owners, Blocks& blocks) {
  for (NodeId node : owners.ids()) {
    for (NodeId before : graph.predecessors[node]) {
      const BlockId from = blocks.of(before);
      const BlockId to = blocks.of(node);
      if (from == to || !owners[before].is_valid() || owners[before] != owners[node]) continue;
      if (blocks.may_join({from, to})) blocks.join({from, to});
    }
  }
}

Table<NodeId, MergedRegionId> merged_regions(const Problem& problem) {
  return regions_of(problem, annotate(problem));
}

runtime::Result<Solution> solve_merge(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const Table<NodeId, OwnerId> owners = annotate(problem);
  const Table<NodeId, MergedRegionId> regions = regions_of(problem, owners);
  const std::vector<CandidateId> inside = candidates_where(problem, [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    const NodeId first = candidate.nodes.front();
    return regions[first].is_valid() && candidate.owner == owners[first] &&
           std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                       [&](NodeId node) { return regions[node] == regions[first]; });
  });
  return without_reason(search_greedy(problem, {inside}, options));
}

}  // namespace collage::place
