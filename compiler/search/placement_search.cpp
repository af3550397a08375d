// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/placement_search.h"

#include <algorithm>
#include <chrono>

#include "compiler/place/build/placement_memory.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/pipeline/pipeline_start.h"
#include "compiler/place/pipeline/spread.h"
#include "compiler/place/schedule/parallel_search.h"
#include "compiler/place/solve.h"
#include "compiler/program/program.h"
#include "compiler/search/lower_limits.h"
#include "compiler/search/memory_text.h"
#include "compiler/search/plan_memory.h"
#include "compiler/search/why_no_placement.h"

namespace collage::search {

using runtime::Result;
using runtime::Status;

namespace {

using place::Simpler;
using place::Solution;
using place::Strategy;

/// The part of the user's time limit that a search for a placement to compare with may take.
constexpr double kPartOfSimpler = 0.1;

/// `12.3 ms, bound 12.1 ms, gap 1.6 %`
std::string progress_text(const place::SearchProgress& now) {
  if (now.cost == Cost::max()) return "no placement yet";
  const std::string text = fmt::format("{}, bound {}", human(now.cost), human(now.bound));
  const std::optional<double> part = gap(now.cost, now.bound);
  return part ? fmt::format("{}, gap {}", text, place::percent_text(*part)) : text;
}

ir::Placement placement_of(const SearchInput& input, const place::BuiltProblem& built, const Solution& solution) {
  return place::to_placement(built, solution, input.graph, &input.built.problem);
}

SearchInput with_part_of_time(const SearchInput& input, double part) {
  SearchInput quick = input;
  quick.options = input.options.with_part_of_time(part);
  return quick;
}

std::vector<Strategy> simpler_strategies(const SearchInput& input, Simpler upto) {
  return place::simpler_strategies(upto, place::backend_names(input.built.problem));
}

}  // namespace

Result<Solution> PlacementSearch::solve(const place::BuiltProblem& built, bool* ignores_limits) const {
  place::SearchOptions options = input_.options;
  std::optional<runner::WorkScope> scope;
  if (input_.listener != nullptr) {
    scope.emplace(*input_.listener, runner::Work::Searching);
    options.on_progress = [&](const place::SearchProgress& now) {
      if (input_.log != nullptr) input_.log->push_back(now);
      scope->report(0, 0, progress_text(now));
    };
  }
  Result<Solution> solution = solve_within_limits(built, options);
  if (solution || input_.limits.empty() || built.spread) return solution;
  if (ignores_limits != nullptr) *ignores_limits = true;
  options.excess = nullptr;
  solution = place::solve(built.problem, strategy_, options);
  if (solution) solution->optimal = false;
  return solution;
}

Result<Solution> PlacementSearch::solve_within_limits(const place::BuiltProblem& built,
                                                      const place::SearchOptions& options) const {
  if (built.spread && built.spread->is_tried) {
    if (place::is_exact(strategy_)) return place::spread_solution(built);
    return Status::error("over so many instances only `optimal` places");
  }
  if (built.spread || input_.limits.empty()) return place::solve(built.problem, strategy_, options);
  place::SearchOptions own = options;
  if (!own.excess) {
    own.excess = [&](const Solution& one) {
      return place::excess_of(input_.graph, place::to_placement(built.problem, one, input_.graph, built.values),
                              input_.limits);
    };
  }
  return place::solve(place::with_memory(built.problem, input_.limits), strategy_, own);
}

/// Looks for a solution that is better with overlap, where the strategy searches at all. Returns the proven bound.
Cost PlacementSearch::overlap(const place::BuiltProblem& built, Solution* solution) const {
  if (!place::is_exact(strategy_)) return {};
  if (built.spread) return built.spread->bound;  // it was cut for this objective
  const place::Problem limited = place::with_memory(built.problem, input_.limits);
  const auto fits = [&](const Solution& other) {
    if (input_.options.excess) return input_.options.excess(other).empty();
    return place::excess_of(input_.graph, placement_of(input_, built, other), input_.limits).empty();
  };
  SearchInput silent = input_;
  silent.listener = nullptr;
  std::vector<Solution> others;
  for (const Strategy& other : simpler_strategies(input_, Simpler::All)) {
    if (input_.options.max_seconds && place::searches(other)) continue;
    if (input_.options.is_stopped()) break;
    if (auto one = PlacementSearch(silent, other).solve(built)) others.push_back(std::move(*one));
  }
  if (built.has_cluster && input_.objective->is_stream) {
    auto pipeline = place::pipeline_start(limited, input_.options, place::PipelineGoal::Stream);
    if (pipeline) others.push_back(std::move(*pipeline));
  }
  place::ParallelResult found = place::search_parallel(limited, input_.machine, *input_.objective->schedule, *solution,
                                                       others, input_.options, fits);
  // Written down, ties between steps may fall differently: what was there before stays where that is better.
  const auto value = [&](const Solution& one) { return objective_value(input_, placement_of(input_, built, one)); };
  if (!fits(*solution) || value(found.solution) <= value(*solution)) *solution = std::move(found.solution);
  return found.bound;
}

/// Solves again while the plan does not fit into the memory of devices and hosts.
Result<FoundPlacement> PlacementSearch::fit() {
  using Clock = std::chrono::steady_clock;
  constexpr int kAttempts = 7;  // with less and less memory
  constexpr int kLessons = 8;
  constexpr double kPartOfTime = 0.25;  // that a search after the first one has
  const Clock::time_point start = Clock::now();
  if (!input_.limits.empty() && input_.targets != nullptr) {
    input_.options.excess = [&](const Solution& solution) {
      return excess_of_plan(asked_, solution, learned_.more(solution.chosen));
    };
  }
  const place::SearchOptions options = input_.options;
  std::optional<FoundPlacement> found;
  std::optional<Cost> bound;  // of the first search: later ones count more, or have too little memory
  for (int lowered = 0, lessons = 0; lowered < kAttempts;) {
    const double part = bound ? kPartOfTime : 1;
    input_.options = options.with_part_of_time(part);
    const place::BuiltProblem& built = learned_.built();
    fits_at_once_ = !bound;
    bool ignores_limits = false;
    Result<Solution> solution = solve(built, &ignores_limits);
    if (!solution && !found) return solution.status();
    if (!solution) return std::move(*found);  // building it says what is missing
    if (input_.objective->is_concurrent()) {
      input_.options = options.with_part_of_time(part);
      solution->bound = overlap(built, &*solution);
    }
    if (bound) {
      solution->bound = *bound;
      solution->optimal = place::is_exact(strategy_) && solution->cost == *bound;
    }
    bound = solution->bound;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    WeighedPlacement weighed = weighed_placement(input_, *solution);
    found = std::move(weighed.found);
    found->seconds = std::max(seconds, found->solution.seconds);
    if (found->exceeded.empty() || built.spread) return std::move(*found);
    if (weighed.apart != nullptr && lessons < kLessons && learned_.learn(weighed.apart->built.plan, found->chosen)) {
      ++lessons;
      continue;
    }
    lower_limits(found->placement, found->exceeded, lowered, &input_.limits);
    ++lowered;
    // Less memory helps no search for which there was too little.
    if (ignores_limits) lowered = std::max(lowered, kAttempts - 1);
    if (lowered + 1 == kAttempts) take_all_memory(built.problem, &input_.limits);
  }
  return std::move(*found);
}

/// After searches that refused plans, or had limits that were too low: what a simpler strategy finds in the same memory
/// may be better, as is any placement that fits where this one does not.
void PlacementSearch::take_better_baseline(FoundPlacement* found) {
  constexpr size_t kFewNodes = 64;  // up to here strategies that search take little time
  const bool takes_each = !fits_at_once_ || asked_.graph.node_count() <= kFewNodes;
  const SearchInput quick = with_part_of_time(asked_, kPartOfSimpler);
  for (const Strategy& simpler : simpler_strategies(asked_, takes_each ? Simpler::Each : Simpler::Quick)) {
    Result<FoundPlacement> other = PlacementSearch(quick, simpler).fit();
    if (!other || !other->exceeded.empty()) continue;
    if (found->exceeded.empty() && other->predicted >= found->predicted) continue;
    other->bound = other->solution.bound = found->bound;
    other->optimal = other->solution.optimal = other->predicted == found->bound;
    other->solution.is_limited = true;
    other->seconds += found->seconds;
    other->states += found->states;
    *found = std::move(*other);
  }
}

Result<FoundPlacement> PlacementSearch::find() {
  // No search can make up for what all memories together lack.
  std::string shortage = has_limited_host(asked_) ? shortage_text(asked_) : "";
  if (!shortage.empty()) return Status::error(std::move(shortage));
  Result<FoundPlacement> found = fit();
  if (!found && found.message().empty()) return Status::error(why_no_placement(asked_, strategy_));
  if (!found) return found;
  // The search refuses plans that it cannot foresee to be too large, and may end with none that is as good.
  const bool may_have_refused = found->solution.is_limited && !found->optimal && !asked_.limits.empty();
  if (place::is_exact(strategy_) && (!fits_at_once_ || may_have_refused)) take_better_baseline(&*found);
  if (has_limited_host(asked_) && !found->exceeded.empty()) return Status::error(excess_text(found->exceeded));
  return found;
}

std::vector<std::pair<std::string, Cost>> costs_without_search(const SearchInput& input) {
  std::vector<std::pair<std::string, Cost>> costs;
  const SearchInput quick = with_part_of_time(input, kPartOfSimpler);
  for (const Strategy& simpler : simpler_strategies(input, Simpler::Shown)) {
    const bool is_host = !simpler.backends.empty();
    // The cost of the greedy strategy depends on costs that were not measured then.
    if (!is_host && input.built.lazy.not_needed > 0) continue;
    const Result<FoundPlacement> found = PlacementSearch(quick, simpler).find();
    if (!found) continue;
    const bool has_bounds = std::any_of(found->chosen.begin(), found->chosen.end(),
                                        [&](place::CandidateId c) { return input.built.origin(c).unmeasured; });
    const std::string label = is_host ? "host only" : to_string(simpler);
    costs.emplace_back(has_bounds ? label + " at least" : label, found->predicted);
  }
  return costs;
}

}  // namespace collage::search
