// SPDX-License-Identifier: Apache-2.0
// Placement without foresight: largest candidates first, in turns. What users compare the optimum with.
#pragma once

#include <optional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/place/problem/strategy_input.h"

namespace collage::place {

/// Takes from each turn's candidates in order: most nodes, least cost, rule, backend, instance, nodes. Nothing if no
/// solution was found.
std::optional<Solution> search_greedy(const Problem& problem, const std::vector<std::vector<CandidateId>>& turns,
                                      const SearchOptions& options);

/// Strategy `greedy`: one turn of all candidates.
std::optional<Solution> solve_greedy(const StrategyInput& input);

/// Strategy `priority:a,b`: a turn for each of the backends, then one for the host.
std::optional<Solution> solve_priority(const StrategyInput& input);

/// Strategy `eager`: as `priority`, over all backends in the order of registration.
std::optional<Solution> solve_eager(const StrategyInput& input);

}  // namespace collage::place
