// SPDX-License-Identifier: Apache-2.0
// See optimal_search.h. Most problems have no limit of memory that could bind; the others go to memory_search.h.
#include "compiler/place/exact/optimal_search.h"

#include "compiler/place/exact/memory_search.h"
#include "compiler/place/exact/search.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {

std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options) {
  if (MemoryLimits(problem).can_bind()) return search_within_memory(problem, options);
  return search_unlimited(problem, options, nullptr, nullptr);
}

std::optional<Solution> search_among(const Problem& problem, const std::vector<CandidateId>& kept,
                                     const SearchOptions& options) {
  std::optional<Solution> solution = search_optimal(part_of(problem, kept), options);
  if (solution) name_whole(kept, *solution);
  return solution;
}

}  // namespace collage::place
