// SPDX-License-Identifier: Apache-2.0
// Strategy `single:x`: the exact search among the candidates of one backend and the host.
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/subproblem.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_single(const Problem& problem, const Strategy& strategy, const SearchOptions& options) {
  const auto takes_part = [&](CandidateId c) {
    const std::string& backend = problem.owners[problem.candidates[c].owner].backend;
    return backend == kHostBackend || backend == strategy.backends.front();
  };
  return without_reason(search_among(problem, candidates_where(problem, takes_part), options));
}

}  // namespace collage::place
