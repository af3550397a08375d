// SPDX-License-Identifier: Apache-2.0
// Placement without foresight: largest candidates first, in turns. What users compare the optimum with.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"

namespace collage::place {

/// Takes from each turn's candidates in order: most nodes, least cost, rule, backend, instance, nodes. Nothing if no
/// solution was found. What the solution proves holds among the candidates that fit beside the taken ones.
///
/// `may_finish`: what may run the nodes that no turn took, unless there is no other way; null: any candidate.
std::optional<Solution> search_greedy(const Problem& problem, const std::vector<std::vector<CandidateId>>& turns,
                                      const SearchOptions& options,
                                      const std::function<bool(CandidateId)>& may_finish = nullptr);

}  // namespace collage::place
