// SPDX-License-Identifier: Apache-2.0
// One strategy on one placement problem. search/placement_search.h goes from there to a placement that fits.
#pragma once

#include <optional>
#include <string>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/place/strategies.h"

namespace collage::place {

/// Returns nullopt if no solution was found; `why` then has the reason where the strategy itself knows it. Only an
/// exact strategy proves a bound; for the others it is zero.
std::optional<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options = {},
                              std::string* why = nullptr);

}  // namespace collage::place
