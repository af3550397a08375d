// SPDX-License-Identifier: Apache-2.0
// The exact placement search: least cost over all covers with an acyclic quotient (problem.h), or the best found within
// a budget together with a bound.
//
// Layers by first uncovered node in search order (search_order.h). Each step covers that node in every possible way;
// partial solutions with equal keys (search_state.h) are merged. A layer keeps the `width` states of least bound
// (chain_bound.h); the least bound among those put aside bounds every solution that was not looked at. After a round of
// width 1 the multipliers of the bound are tuned (tune_bound.h); then width grows by a factor of four until nothing
// below the best solution was put aside: that is the proof.
//
// Ties: least cost, then fewest candidates, then the sequence of candidates in the order in which they cover the first
// uncovered node, compared by rule, backend, instance, nodes. The order of Problem::candidates never matters. Equally
// good solutions are told apart exactly unless that alone would take more than `tie_states`.
#pragma once

#include <optional>

#include "compiler/place/problem.h"

namespace collage::place {

struct SearchOptions {
  uint64_t max_states = 50'000;       ///< expanded in all; the first solution may take kPatience times as many
  uint64_t tie_states = 10'000;       ///< past this many, a proven cost is enough
  std::optional<double> max_seconds;  ///< makes results depend on the machine; for users in a hurry
};

inline constexpr uint64_t kPatience = 4;

/// Nothing if no solution exists, or if none was found in `kPatience` times the budget.
std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options = {});

}  // namespace collage::place
