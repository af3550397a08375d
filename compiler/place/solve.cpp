// SPDX-License-Identifier: Apache-2.0
// See solve.h. The strategies that combine searches of several folders are defined here, the others in their folders.
#include "compiler/place/solve.h"

#include <algorithm>
#include <chrono>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/known/known_solutions.h"
#include "compiler/place/pipeline/pipeline_start.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

/// Takes back what a solution claims to be proven.
void drop_proof(Solution& solution) {
  solution.bound = Cost();
  solution.optimal = false;
}

/// The answer of the row's exact strategy: the one that is known, or that of a search. That of a probe is not kept.
runtime::Result<Solution> solve_or_recall(const StrategyRow& row, const Problem& problem, const Strategy& strategy,
                                          const SearchOptions& options) {
  KnownSolutions* known = is_repeatable(options) ? options.known : nullptr;
  if (known != nullptr) {
    if (std::optional<Solution> solution = known->find(problem, options)) return std::move(*solution);
  }
  SearchOptions own = options;
  if (options.is_probe) own.max_states = std::min(own.max_states, kProbeStates);
  const auto start = std::chrono::steady_clock::now();
  runtime::Result<Solution> solution = row.solve(problem, strategy, own);
  if (solution) solution->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (known != nullptr && solution && !options.is_probe && is_repeatable(options)) {
    known->keep(problem, options, *solution);
  }
  return solution;
}

bool is_limited(const Owner& owner) {
  return owner.max_partitions || owner.memory || !owner.conflicts.empty();
}

/// False: the rival is no better.
bool take_if_better(const Solution& rival, Solution& best) {
  if (rival.cost >= best.cost) return false;
  best.chosen = rival.chosen;
  best.region = rival.region;
  best.cost = rival.cost;
  best.optimal = best.cost == best.bound;
  return true;
}

/// Where limits kept the search from proving its solution: what simpler strategies find that were no start of it, and
/// what it finds without each of the backends that have limits, may be better. Searches end once they cannot be.
void take_better_rival(const Problem& problem, const SearchOptions& asked, Solution& best) {
  const std::vector<std::string> backends = backend_names(problem);
  const std::vector<Strategy> starts = simpler_strategies(Simpler::Quick, backends);
  SearchOptions options = asked;
  options.cutoff = best.cost;
  const auto consider = [&](const auto& rival) {
    if (rival && take_if_better(*rival, best)) options.cutoff = best.cost;
  };
  for (const Strategy& simpler : simpler_strategies(Simpler::Each, backends)) {
    if (options.is_stopped()) return;
    if (std::find(starts.begin(), starts.end(), simpler) != starts.end()) continue;
    consider(solve(problem, simpler, searches(simpler) ? options : asked));
  }
  for (const std::string& backend : backends) {
    const bool has_limit = std::any_of(problem.owners.begin(), problem.owners.end(), [&](const Owner& owner) {
      return owner.backend == backend && is_limited(owner);
    });
    if (!has_limit || backend == kHostBackend || options.is_stopped()) continue;
    const auto others = candidates_where(
        problem, [&](CandidateId c) { return problem.owners[problem.candidates[c].owner].backend != backend; });
    consider(search_among(problem, others, options));
  }
}

}  // namespace

runtime::Result<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options) {
  const StrategyRow& row = row_of(strategy);
  if (is_exact(strategy)) return solve_or_recall(row, problem, strategy, options);
  runtime::Result<Solution> solution = row.solve(problem, strategy, options);
  if (solution) drop_proof(*solution);
  return solution;
}

/// The exact search, started from what the quick strategies find, or what these find where it has no solution in time.
runtime::Result<Solution> solve_optimal(const Problem& problem, const Strategy&, const SearchOptions& options) {
  std::optional<std::vector<Solution>> starts;
  const auto find_starts = [&] {
    if (starts) return *starts;
    constexpr double kPartOfTime = 0.05;
    starts.emplace();
    for (const Strategy& simpler : simpler_strategies(Simpler::Quick, backend_names(problem))) {
      if (auto one = solve(problem, simpler, options.with_part_of_time(kPartOfTime))) starts->push_back(*one);
    }
    if (auto one = pipeline_start(problem, options.with_part_of_time(kPartOfTime), PipelineGoal::Latency)) {
      starts->push_back(*one);
    }
    return *starts;
  };
  std::optional<Solution> solution = search_optimal(problem, options, find_starts);
  if (!solution) return solve(problem, {Strategy::Kind::Greedy, {}}, options);
  if (solution->optimal || options.is_probe) return std::move(*solution);
  for (const Solution& start : find_starts()) take_if_better(start, *solution);
  const bool has_limits = std::any_of(problem.owners.begin(), problem.owners.end(), is_limited);
  if (has_limits && !options.max_seconds) take_better_rival(problem, options, *solution);
  return std::move(*solution);
}

/// Measuring (search/evolve_placement.h) starts from the exact placement.
runtime::Result<Solution> solve_evolve(const Problem& problem, const Strategy& strategy, const SearchOptions& options) {
  return solve_optimal(problem, strategy, options);
}

}  // namespace collage::place
