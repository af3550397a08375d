// SPDX-License-Identifier: Apache-2.0
// A case of a proof, ready to be bounded: the candidates that are left, at their costs with the prices of limits.
#pragma once

#include <memory>
#include <vector>

#include "compiler/place/exact/bound/proof_cases.h"
#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/exact/bound/stated_multipliers.h"

namespace collage::place {

struct ProofStage {
  /// `now` after ProofCases::reduce.
  ProofStage(const ProofCases& cases, const CaseOfProof& now, const std::vector<Proof::LimitPrice>& prices,
             const Table<Position, NodeId>& order);
  ProofStage(const ProofStage&) = delete;
  ProofStage& operator=(const ProofStage&) = delete;

  /// What solutions of the case cost at least.
  Cost lower() const { return chain.lower() >= Cost::max() ? Cost::max() : chain.lower() - credit; }
  /// A chain at `cost` by the costs of the problem.
  Cost priced(Cost cost) const { return cost + credit; }

  Problem part;
  Cost credit;  ///< that all limits give back at most
  IndexedProblem search;
  ChainBound chain;
};

}  // namespace collage::place
