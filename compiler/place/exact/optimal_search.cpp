// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/optimal_search.h"

#include "compiler/place/exact/search.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

/// `starts` and what `options` ask about solutions of the whole problem, for a part of it.
std::optional<Solution> search_part(const Problem& problem, const std::vector<CandidateId>& kept,
                                    const SearchOptions& options, const Starts& starts) {
  SearchOptions own = options;
  if (options.excess) {
    own.excess = [&](const Solution& part) {
      Solution whole = part;
      name_whole(kept, whole);
      return options.excess(whole);
    };
  }
  Starts known;
  if (starts) {
    known = [&] {
      Table<CandidateId, CandidateId> part_of(problem.candidates.size());
      for (size_t i = 0; i < kept.size(); ++i) part_of[kept[i]] = CandidateId(i);
      std::vector<Solution> result;
      for (Solution& start : starts()) {
        for (CandidateId& c : start.chosen) c = part_of[c];
        const bool is_part = std::all_of(start.chosen.begin(), start.chosen.end(), [](auto c) { return c.is_valid(); });
        if (is_part) result.push_back(std::move(start));
      }
      return result;
    };
  }
  std::optional<Solution> solution = search_optimal(part_of(problem, kept), own, known);
  if (solution) name_whole(kept, *solution);
  return solution;
}

}  // namespace

std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options, const Starts& starts) {
  const MemoryLimits limits(problem);
  if (!limits.can_bind()) return search_covers(problem, options, nullptr, starts);
  const std::vector<CandidateId> kept = candidates_where(problem, [&](CandidateId c) { return limits.could_fit({c}); });
  if (kept.size() == problem.candidates.size()) return search_covers(problem, options, &limits, starts);
  return search_part(problem, kept, options, starts);
}

std::optional<Solution> search_among(const Problem& problem, const std::vector<CandidateId>& kept,
                                     const SearchOptions& options) {
  return search_part(problem, kept, options, {});
}

}  // namespace collage::place
