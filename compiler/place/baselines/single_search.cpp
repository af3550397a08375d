// SPDX-License-Identifier: Apache-2.0
// Strategy `single:x`: the exact search among the candidates of one backend and the host.
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/strategy_input.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {

std::optional<Solution> solve_single(const StrategyInput& input) {
  const Problem& problem = input.problem;
  const auto takes_part = [&](CandidateId c) {
    const std::string& backend = problem.owners[problem.candidates[c].owner].backend;
    return backend == kHostBackend || backend == input.backends.front();
  };
  return search_among(problem, candidates_where(problem, takes_part), input.options);
}

}  // namespace collage::place
