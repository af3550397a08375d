// SPDX-License-Identifier: Apache-2.0
// See claims.h.
#include "compiler/place/policies/claims.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "compiler/place/problem/subproblem.h"

namespace collage::place {

std::vector<OwnerId> owners_in_turn(const Problem& problem) {
  std::vector<OwnerId> owners;
  std::set<std::string> seen = {std::string(kHostBackend)};
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (owner.members.empty() && seen.insert(owner.backend).second) owners.push_back(o);
  }
  return owners;
}

Table<NodeId, bool> claim(const Problem& problem, OwnerId owner, const Table<NodeId, OwnerId>& owned, Blocks& blocks) {
  std::vector<CandidateId> offers = candidates_where(problem, [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    return candidate.owner == owner && candidate.cost < Cost::max() &&
           std::none_of(candidate.nodes.begin(), candidate.nodes.end(),
                        [&](NodeId node) { return owned[node].is_valid(); });
  });
  const auto rank = [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    return std::tuple<size_t, const std::vector<NodeId>&>(candidate.nodes.size(), candidate.nodes);
  };
  std::sort(offers.begin(), offers.end(), [&](CandidateId a, CandidateId b) { return rank(a) < rank(b); });
  Table<NodeId, bool> claimed(problem.node_count, false);
  for (CandidateId c : offers) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    if (std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return claimed[node]; })) continue;
    const std::vector<BlockId> parts = blocks.of(nodes);
    if (blocks.nodes(parts) != nodes || !blocks.may_join(parts)) continue;
    blocks.join(parts);
    for (NodeId node : nodes) claimed[node] = true;
  }
  return claimed;
}

Table<NodeId, OwnerId> claim_all(const Problem& problem, Blocks& blocks) {
  Table<NodeId, OwnerId> owned(problem.node_count);
  for (OwnerId owner : owners_in_turn(problem)) {
    const Table<NodeId, bool> claimed = claim(problem, owner, owned, blocks);
    for (NodeId node : problem.nodes()) {
      if (claimed[node]) owned[node] = owner;
    }
  }
  return owned;
}

}  // namespace collage::place
