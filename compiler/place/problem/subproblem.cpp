// SPDX-License-Identifier: Apache-2.0
// See subproblem.h.
#include "compiler/place/problem/subproblem.h"

#include "compiler/place/problem/proof.h"

namespace collage::place {

std::vector<CandidateId> all_candidates(const Problem& problem) {
  return candidates_where(problem, [](CandidateId) { return true; });
}

std::vector<CandidateId> candidates_where(const Problem& problem, const std::function<bool(CandidateId)>& keep) {
  std::vector<CandidateId> kept;
  for (CandidateId c : problem.candidates.ids()) {
    if (keep(c)) kept.push_back(c);
  }
  return kept;
}

Problem part_of(const Problem& problem, const std::vector<CandidateId>& kept) {
  Problem part;
  part.node_count = problem.node_count;
  part.unit = problem.unit;
  part.values = problem.values;
  part.formats = problem.formats;
  part.host_plain = problem.host_plain;
  part.owners = problem.owners;
  part.constant_bytes = problem.constant_bytes;
  for (CandidateId c : kept) part.candidates.push_back(problem.candidates[c]);
  return part;
}

void name_whole(const std::vector<CandidateId>& kept, Solution& solution) {
  for (CandidateId& c : solution.chosen) c = kept[c.slot()];
  if (solution.multipliers == nullptr) return;
  FoundMultipliers whole = *solution.multipliers;
  for (Proof::Round& round : whole.rounds) {
    for (Proof::Share& share : round.shares) share.candidate = kept[share.candidate.slot()];
  }
  solution.multipliers = std::make_shared<FoundMultipliers>(std::move(whole));
}

}  // namespace collage::place
