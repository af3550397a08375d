// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/small_steps.h"

#include <algorithm>
#include <limits>

#include "compiler/place/problem/subproblem.h"

namespace collage::place {

std::vector<CandidateId> small_candidates(const Problem& problem, int64_t limit) {
  constexpr int64_t kHardly = 64;  // what is fused to a long node may take this part of its time
  Table<NodeId, int64_t> alone(problem.node_count, std::numeric_limits<int64_t>::max());
  for (const Candidate& candidate : problem.candidates) {
    for (NodeId node : candidate.nodes) alone[node] = std::min(alone[node], candidate.cost.count());
  }
  return candidates_where(problem, [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    int64_t longest = 0;
    for (NodeId node : candidate.nodes) longest = std::max(longest, alone[node]);
    return candidate.cost.count() <= std::max(limit, longest) || candidate.cost.count() - longest <= longest / kHardly;
  });
}

std::vector<CandidateId> candidates_in_stages(const Problem& problem, const Table<NodeId, StageId>& stage_of) {
  return candidates_where(problem, [&](CandidateId c) {
    const std::vector<NodeId>& nodes = problem.candidates[c].nodes;
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId node) { return stage_of[node] == stage_of[nodes.front()]; });
  });
}

}  // namespace collage::place
