// SPDX-License-Identifier: Apache-2.0
// Proofs of a single case straight from the search's chain bound.
#pragma once

#include "compiler/place/problem/proof.h"
#include "tests/differential/random_problem.h"

namespace collage::place {

/// One round of multipliers drawn at random, with the bound that the chain bound finds for them. It does not exist
/// where some candidate is out of the bound's reach.
Proof random_proof(const Problem& problem, RandomSource& random);

}  // namespace collage::place
