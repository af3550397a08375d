// SPDX-License-Identifier: Apache-2.0
// One strategy on one placement problem. search/placement_search.h goes from there to a placement that fits.
#pragma once

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/place/strategies.h"
#include "runtime/core/status.h"

namespace collage::place {

/// Fails if no solution was found; the message is empty where the strategy itself does not know why. Only an exact
/// strategy proves a bound; for the others it is zero.
runtime::Result<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options = {});

}  // namespace collage::place
