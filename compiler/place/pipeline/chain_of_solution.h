// SPDX-License-Identifier: Apache-2.0
// A solution as a chain of steps: its candidates in their order of execution.
#pragma once

#include <functional>
#include <vector>

#include "compiler/place/pipeline/chain.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// A chosen candidate by its place in the solution.
using ChosenId = Id<struct ChosenTag>;

/// Ready candidates by their first node. Expects an acyclic solution.
Table<StepId, ChosenId> steps_of(const Problem& problem, const std::vector<CandidateId>& chosen);

struct ChainTimes {
  std::function<int64_t(ProblemValueId value)> copy;       ///< from a stage to the next
  std::function<int64_t(ProblemValueId value)> copy_home;  ///< from a stage other than the first to the first host
};

/// Without stages. `counts`: candidates whose time and constants are those of a stage.
Chain chain_of_solution(const Problem& problem, const std::vector<CandidateId>& chosen,
                        const Table<StepId, ChosenId>& order, const std::function<bool(CandidateId)>& counts,
                        const ChainTimes& times);

}  // namespace collage::place
