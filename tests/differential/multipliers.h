// SPDX-License-Identifier: Apache-2.0
// Certificates of a problem straight from the search's chain bound, and covers without any search.
#pragma once

#include "tests/differential/random_problem.h"

namespace collage::place {

/// Multipliers drawn at random, with the bound that the chain bound finds for them. Its order is empty if some
/// candidate is out of the bound's reach.
Certificate random_certificate(const Problem& problem, RandomSource& random);

/// Candidates that cover every node once, and nothing else: they may form cycles, break limits, or lack conversions. No
/// candidates if there was no cover along the way that was tried.
Solution random_cover(const Problem& problem, RandomSource& random);

}  // namespace collage::place
