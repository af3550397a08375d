// SPDX-License-Identifier: Apache-2.0
// The exact placement search: least cost over all covers with an acyclic quotient (problem.h), or the best found within
// a budget together with a bound.
//
//   1. A first solution: layers by first uncovered node, one state each (layered_search.h).
//   2. Multipliers that make the bound tight (tune_bound.h); better multipliers make better solutions of width 1.
//   3. Candidates that the bound shows to be in no better solution go (chain_bound.h, `lower_with_moves`). With fewer
//      candidates the bound is tighter still: again from 2, while that takes away enough.
//   4. Layers of width 4, 16, … until no state was put aside whose bound is below the best solution: the proof.
//
// Ties: least cost, then fewest candidates, then the sequence of candidates in the order in which they cover the first
// uncovered node, compared by rule, backend, instance, nodes. The order of Problem::candidates never matters. Equally
// good solutions are told apart exactly unless that alone would take more than `tie_states`.
#pragma once

#include <functional>
#include <optional>

#include "compiler/place/problem.h"

namespace collage::place {

/// What a search has reached so far.
struct SearchProgress {
  double seconds = 0;
  uint64_t states = 0;
  size_t candidates = 0;  ///< that may still be in a better solution
  Duration cost;          ///< `Duration::max()`: no solution yet
  Duration bound;
};

struct SearchOptions {
  uint64_t max_states = 50'000;       ///< expanded in all; the first solution may take kPatience times as many
  uint64_t tie_states = 10'000;       ///< past this many, a proven cost is enough
  std::optional<double> max_seconds;  ///< makes results depend on the machine; for users in a hurry
  std::function<void(const SearchProgress&)> on_progress = nullptr;
};

inline constexpr uint64_t kPatience = 4;

/// Nothing if no solution exists, or if none was found in `kPatience` times the budget.
std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options = {});

}  // namespace collage::place
