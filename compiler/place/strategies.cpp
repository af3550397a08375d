// SPDX-License-Identifier: Apache-2.0
// See strategies.h. Strategies that combine searches of several folders are defined here, the others in their folders.
#include "compiler/place/strategies.h"

#include <algorithm>
#include <chrono>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/known/known_solutions.h"
#include "compiler/place/pipeline/pipeline_start.h"
#include "compiler/place/problem/subproblem.h"
#include "runtime/core/text.h"

namespace collage::place {

namespace {

using Takes = StrategyRow::Takes;
using Role = StrategyRow::Role;

constexpr StrategyRow kRows[] = {
#define STRATEGY(kind, name, takes, role, description) \
  {Strategy::Kind::kind, #name, Takes::takes, Role::role, description, &solve_##name},
#include "compiler/place/strategies.def"
#undef STRATEGY
};

std::string_view name_of(std::string_view text) {
  return text.substr(0, text.find(':'));
}

/// `optimal`, `greedy`, `priority:BACKEND,...` and `single:BACKEND`.
std::string listed_for_message() {
  std::string text;
  for (const StrategyRow& row : kRows) {
    const bool is_last = &row == std::end(kRows) - 1;
    text += &row == kRows ? "`" : is_last ? " and `" : ", `";
    text += row.name;
    if (row.takes != Takes::Nothing) text += row.takes == Takes::OneBackend ? ":BACKEND" : ":BACKEND,...";
    text += "`";
  }
  return text;
}

const StrategyRow& row_of(const Strategy& strategy) {
  return kRows[static_cast<size_t>(strategy.kind)];
}

/// An exact strategy, unless its answer to the problem is known. The answer to a probe is not kept.
std::optional<Solution> solve_once(const StrategyRow& row, const StrategyInput& input) {
  const SearchOptions& options = input.options;
  KnownSolutions* known = is_repeatable(options) ? options.known : nullptr;
  if (known != nullptr) {
    if (std::optional<Solution> solution = known->find(input.problem, options)) return solution;
  }
  SearchOptions own = options;
  if (options.is_probe) own.max_states = std::min(own.max_states, kProbeStates);
  const auto start = std::chrono::steady_clock::now();
  std::optional<Solution> solution = row.solve({input.problem, input.backends, own, input.why});
  if (solution) solution->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (known != nullptr && solution && !options.is_probe && is_repeatable(options)) {
    known->keep(input.problem, options, *solution);
  }
  return solution;
}

/// Of a solution that is not known to be near the best of the whole problem.
void drop_proof(Solution& solution) {
  solution.bound = Cost();
  solution.optimal = false;
}

}  // namespace

std::span<const StrategyRow> strategy_rows() {
  return kRows;
}

std::string usage_of(const StrategyRow& row) {
  constexpr std::string_view kBackends[] = {"", ":a", ":a,b"};
  return std::string(row.name) + std::string(kBackends[static_cast<size_t>(row.takes)]);
}

std::string strategies_usage() {
  std::string text;
  for (const StrategyRow& row : kRows) text += (text.empty() ? "" : " | ") + usage_of(row);
  return text;
}

std::string to_string(const Strategy& strategy) {
  std::string text(row_of(strategy).name);
  for (const std::string& backend : strategy.backends) {
    text += (&backend == &strategy.backends.front() ? ":" : ",") + backend;
  }
  return text;
}

const StrategyRow* find_strategy(std::string_view text) {
  const auto row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& one) { return one.name == name_of(text); });
  return row == std::end(kRows) ? nullptr : row;
}

std::optional<Strategy> parse_strategy(std::string_view text, const std::vector<std::string>& backends,
                                       const std::string& where, support::Diagnostics& diags) {
  const size_t colon = text.find(':');
  const std::string_view name = name_of(text);
  const StrategyRow* row = find_strategy(text);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const StrategyRow& known : kRows) names.emplace_back(known.name);
    return diags.error_at(support::Code::BadStrategy, where, "unknown strategy `{}`", name)
        .did_you_mean(support::closest(name, names))
        .note("strategies are {}", listed_for_message());
  }
  Strategy strategy{row->kind, {}};
  if (row->takes == Takes::Nothing) {
    if (colon == std::string_view::npos) return strategy;
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes no backends", name);
  }
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` needs a backend: `{}:BACKEND`", name, name);
  }
  strategy.backends = runtime::split(text.substr(colon + 1), ',');
  for (const std::string& backend : strategy.backends) {
    if (backend == kHostBackend || std::find(backends.begin(), backends.end(), backend) != backends.end()) continue;
    return diags.error_at(support::Code::BadStrategy, where, "unknown backend `{}`", backend)
        .did_you_mean(support::closest(backend, backends));
  }
  if (row->takes == Takes::OneBackend && strategy.backends.size() > 1) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes one backend, found {}", name,
                          strategy.backends.size());
  }
  return strategy;
}

bool is_exact(const Strategy& strategy) {
  return row_of(strategy).role == Role::Exact;
}

bool searches(const Strategy& strategy) {
  return row_of(strategy).role != Role::Baseline;
}

bool is_measured(const Strategy& strategy) {
  return row_of(strategy).role == Role::Measured;
}

std::vector<Strategy> compared_strategies(const std::vector<std::string>& backends) {
  std::vector<Strategy> all;
  for (const StrategyRow& row : kRows) {
    if (row.takes == Takes::Nothing && row.role != Role::Measured) all.push_back({row.kind, {}});
    if (row.takes != Takes::OneBackend) continue;
    for (const std::string& backend : backends) {
      if (backend != kHostBackend) all.push_back({row.kind, {backend}});
    }
    all.push_back({row.kind, {std::string(kHostBackend)}});
  }
  return all;
}

bool takes_part(const Strategy& strategy, std::string_view backend) {
  return row_of(strategy).takes != Takes::OneBackend || backend == kHostBackend || backend == strategy.backends.front();
}

std::optional<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options,
                              std::string* why) {
  std::string reason;
  const StrategyRow& row = row_of(strategy);
  const StrategyInput input{problem, strategy.backends, options, why != nullptr ? why : &reason};
  if (is_exact(strategy)) return solve_once(row, input);
  std::optional<Solution> solution = row.solve(input);
  if (solution) drop_proof(*solution);
  return solution;
}

namespace {

bool is_limited(const Owner& owner) {
  return owner.max_partitions || owner.memory || !owner.conflicts.empty();
}

/// False: the rival is no better.
bool take_if_better(const std::optional<Solution>& rival, Solution& best) {
  if (!rival || rival->cost >= best.cost) return false;
  best.chosen = rival->chosen;
  best.region = rival->region;
  best.cost = rival->cost;
  best.optimal = best.cost == best.bound;
  return true;
}

/// Where limits kept the search from proving its solution: what simpler searches find, and what it finds without each
/// of the backends that have limits, may be better. Each of these searches ends once it cannot be.
void take_better_rival(const StrategyInput& input, Solution& best) {
  const Problem& problem = input.problem;
  SearchOptions options = input.options;
  options.cutoff = best.cost;
  const auto consider = [&](const std::optional<Solution>& rival) {
    if (take_if_better(rival, best)) options.cutoff = best.cost;
  };
  consider(solve_merge({problem, input.backends, input.options, input.why}));
  for (const std::string& backend : backend_names(problem)) {
    if (backend == kHostBackend || options.is_stopped()) continue;
    const std::vector<std::string> alone = {backend};
    consider(solve_single({problem, alone, options, input.why}));
    const bool has_limit = std::any_of(problem.owners.begin(), problem.owners.end(), [&](const Owner& owner) {
      return owner.backend == backend && is_limited(owner);
    });
    if (!has_limit) continue;
    const auto others = candidates_where(
        problem, [&](CandidateId c) { return problem.owners[problem.candidates[c].owner].backend != backend; });
    consider(search_among(problem, others, options));
  }
}

}  // namespace

std::optional<Solution> solve_optimal(const StrategyInput& input) {
  std::optional<std::vector<Solution>> simpler;
  const auto simpler_solutions = [&] {
    if (simpler) return *simpler;
    constexpr double kPartOfTime = 0.05;
    const std::vector<std::string> host = {std::string(kHostBackend)};
    const auto quick = [&] { return input.options.with_part_of_time(kPartOfTime); };
    simpler.emplace();
    for (std::optional<Solution>& one : std::vector{solve_single({input.problem, host, quick(), input.why}),
                                                    solve_greedy({input.problem, input.backends, quick(), input.why}),
                                                    solve_eager({input.problem, input.backends, quick(), input.why}),
                                                    pipeline_start(input.problem, quick(), PipelineGoal::Latency)}) {
      if (one) simpler->push_back(std::move(*one));
    }
    return *simpler;
  };
  std::optional<Solution> solution = search_optimal(input.problem, input.options, simpler_solutions);
  if (!solution) {
    solution = solve_greedy(input);
    if (solution) drop_proof(*solution);
    return solution;
  }
  if (solution->optimal || input.options.is_probe) return solution;
  for (const Solution& rival : simpler_solutions()) take_if_better(rival, *solution);
  const bool has_limits = std::any_of(input.problem.owners.begin(), input.problem.owners.end(), is_limited);
  if (has_limits && !input.options.max_seconds) take_better_rival(input, *solution);
  return solution;
}

std::optional<Solution> solve_evolve(const StrategyInput& input) {
  return solve_optimal(input);
}

}  // namespace collage::place
