// SPDX-License-Identifier: Apache-2.0
// Where a case of a proof is split: at what keeps its cheapest chain from being a solution.
//
//   - The chain has some runs of a candidate, and others not: its node is covered by candidates of the same nodes, or
//     not.
//   - Two owners conflict; there are too many partitions on a backend, or too many bytes.
//   - Its candidates form a cycle, or a value is read in other formats than the bound has it in.
#pragma once

#include "compiler/place/exact/bound/proof_stage.h"

namespace collage::place {

/// Returns what to split by; `now` after ProofCases::reduce, and `stage` made of it. Kind::None where nothing can be
/// split.
Proof::Split choose_split(const ProofCases& cases, const CaseOfProof& now, const ProofStage& stage);

/// Takes from both parts of a case the candidates that the split leaves to the other.
void divide(const ProofCases& cases, const Proof::Split& by, CaseOfProof& first, CaseOfProof& second);

/// Returns how many units of each limit the cheapest chain takes: of a candidate of which it has some runs, that part.
Table<ProofCases::LimitId, double> units_of_chain(const ProofCases& cases, const ProofStage& stage);

}  // namespace collage::place
