// SPDX-License-Identifier: Apache-2.0
// The search of optimal_search.h among candidates each of which fits into memory alone.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/memory_limits.h"

namespace collage::place {

/// `memory`: null where none can be too small. `starts`: as of `search_optimal`.
std::optional<Solution> search_covers(const Problem& problem, const SearchOptions& options, const MemoryLimits* memory,
                                      const Starts& starts);

}  // namespace collage::place
