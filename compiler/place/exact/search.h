// SPDX-License-Identifier: Apache-2.0
// The search of optimal_search.h without regard to memory, and its exact form with it, for `memory_search.h`.
#pragma once

#include <optional>
#include <vector>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/memory_limits.h"

namespace collage::place {

/// `memory`: null, or limits that every solution keeps; no two partial solutions are then merged. `known`: a solution
/// to begin with, or null.
std::optional<Solution> search_unlimited(const Problem& problem, const SearchOptions& options,
                                         const MemoryLimits* memory, const Solution* known);

}  // namespace collage::place
