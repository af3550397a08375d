// SPDX-License-Identifier: Apache-2.0
// See place_regions.h.
#include "compiler/place/policies/place_regions.h"

#include <algorithm>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/policies/claims.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> place_regions(const Problem& problem, const std::vector<PolicyRegion>& regions,
                                        const SearchOptions& options) {
  Table<NodeId, const PolicyRegion*> region_of(problem.node_count, nullptr);
  for (const PolicyRegion& region : regions) {
    for (NodeId node : region.nodes) region_of[node] = &region;
  }
  const auto is_inside = [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    const PolicyRegion* region = region_of[candidate.nodes.front()];
    return region != nullptr && region->owner == candidate.owner &&
           std::all_of(candidate.nodes.begin(), candidate.nodes.end(),
                       [&](NodeId node) { return region_of[node] == region; });
  };
  const auto may_finish = [&](CandidateId c) {
    return problem.owners[problem.candidates[c].owner].backend == kHostBackend || is_inside(c);
  };
  return without_reason(search_greedy(problem, {candidates_where(problem, is_inside)}, options, may_finish));
}

std::vector<PolicyRegion> regions_in_turn(const Problem& problem, const Grouping& grouping) {
  const NodeGraph graph = node_graph(problem);
  Blocks taken(graph);
  Table<NodeId, OwnerId> owned(problem.node_count);
  std::vector<PolicyRegion> regions;
  for (OwnerId owner : owners_in_turn(problem)) {
    Blocks blocks = taken;
    const Table<NodeId, bool> claimed = claim(problem, owner, owned, blocks);
    for (const std::vector<BlockId>& group : grouping(blocks, claimed)) {
      regions.push_back({owner, blocks.nodes(group)});
      const std::vector<NodeId>& nodes = regions.back().nodes;
      for (NodeId node : nodes) owned[node] = owner;
      taken.join(taken.of(nodes));
    }
  }
  return regions;
}

}  // namespace collage::place
