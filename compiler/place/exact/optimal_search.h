// SPDX-License-Identifier: Apache-2.0
// The exact placement search: least cost over all covers with an acyclic quotient (problem.h), or the best found within
// a budget together with a bound.
//
//   1. A first solution: layers by first uncovered node, one state each (beam_search.h).
//   2. Multipliers that make the bound tight (tune_bound.h); better multipliers make better solutions of width 1.
//   3. Candidates that the bound shows to be in no better solution go (relaxation_bound.h, `lower_with_moves`). With
//      fewer candidates the bound is tighter still: again from 2, while that takes away enough.
//   4. Layers of width 4, 16, … until no state was put aside whose bound is below the best solution: the proof.
//
// Limits (search_limits.h) count once a solution breaks them: from then on they have prices in the bound, and partial
// solutions remember what they have used. What a plan needs of a memory follows from its whole execution order: of
// solutions that fit by what can be counted early, those that do not fit in the end are refused, and rounds that count
// on less memory look for one that does. Small problems are at last searched with all choices kept apart, which is
// exact.
//
// Ties: least cost, then fewest candidates, then the sequence of candidates in the order in which they cover the first
// uncovered node, compared by rule, backend, instance, nodes. The order of Problem::candidates never matters. Equally
// good solutions are distinguished exactly unless that alone would take more than `tie_states`.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"

namespace collage::place {

/// Solutions of simpler strategies; asked for only where limits bind.
using Starts = std::function<std::vector<Solution>()>;

/// Nothing if no solution exists, or if none was found in `kPatience` times the budget. It is never worse than one of
/// `starts` that keeps all limits.
std::optional<Solution> search_optimal(const Problem& problem, const SearchOptions& options = {},
                                       const Starts& starts = {});

/// The optimal search over the `kept` candidates; the solution names candidates of `problem`.
std::optional<Solution> search_among(const Problem& problem, const std::vector<CandidateId>& kept,
                                     const SearchOptions& options);

}  // namespace collage::place
