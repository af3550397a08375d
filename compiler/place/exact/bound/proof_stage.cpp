// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/proof_stage.h"

#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

Problem priced_part(const ProofCases& cases, const CaseOfProof& now, const std::vector<Proof::LimitPrice>& prices) {
  Problem part = part_of(cases.problem(), now.left);
  if (prices.empty()) return part;
  for (CandidateId c : part.candidates.ids()) {
    part.candidates[c].cost += part.cost_of(cases.surcharge(prices, now.left[c.slot()]));
  }
  return part;
}

}  // namespace

ProofStage::ProofStage(const ProofCases& cases, const CaseOfProof& now, const std::vector<Proof::LimitPrice>& prices,
                       const Table<Position, NodeId>& order)
    : part(priced_part(cases, now, prices)), credit(cases.credit(prices)), search(part, order), chain(search) {
  for (IndexedCandidate& move : search.moves) move.source = now.left[move.source.slot()];
}

}  // namespace collage::place
