// SPDX-License-Identifier: Apache-2.0
// See optimal_search.h. Most problems have no limit of memory that could bind; the others go to memory_search.h.
#include "compiler/place/optimal_search.h"

#include "compiler/place/memory_search.h"
#include "compiler/place/unlimited_search.h"

namespace collage::place {

std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options) {
  if (MemoryLimits(problem).can_bind()) return search_within_memory(problem, options);
  return search_unlimited(problem, options, nullptr, nullptr);
}

}  // namespace collage::place
