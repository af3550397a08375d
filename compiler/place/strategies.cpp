// SPDX-License-Identifier: Apache-2.0
// See strategies.h.
#include "compiler/place/strategies.h"

#include <algorithm>

#include "compiler/place/baselines/greedy_search.h"
#include "compiler/place/baselines/merge_search.h"
#include "compiler/place/baselines/tvm_search.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/subproblem.h"
#include "runtime/core/text.h"

namespace collage::place {
namespace {

constexpr std::string_view kHost = "host";

constexpr std::pair<std::string_view, Strategy::Kind> kKinds[] = {
    {"optimal", Strategy::Kind::Optimal},   {"greedy", Strategy::Kind::Greedy}, {"eager", Strategy::Kind::Eager},
    {"merge", Strategy::Kind::Merge},       {"tvm", Strategy::Kind::Tvm},       {"evolve", Strategy::Kind::Evolve},
    {"priority", Strategy::Kind::Priority}, {"single", Strategy::Kind::Single}};

/// Backends other than the host. Owners stand in the order of registration.
std::vector<std::string> registered(const Problem& problem) {
  std::vector<std::string> names;
  for (const Owner& owner : problem.owners) {
    if (owner.backend != kHost && (names.empty() || names.back() != owner.backend)) names.push_back(owner.backend);
  }
  return names;
}

}  // namespace

std::string to_string(const Strategy& strategy) {
  std::string names;
  for (const std::string& backend : strategy.backends) names += (names.empty() ? "" : ",") + backend;
  switch (strategy.kind) {
    case Strategy::Kind::Optimal: return "optimal";
    case Strategy::Kind::Greedy: return "greedy";
    case Strategy::Kind::Priority: return "priority:" + names;
    case Strategy::Kind::Eager: return "eager";
    case Strategy::Kind::Merge: return "merge";
    case Strategy::Kind::Tvm: return "tvm";
    case Strategy::Kind::Evolve: return "evolve";
    case Strategy::Kind::Single: return "single:" + names;
  }
  return "";
}

std::optional<Strategy> parse_strategy(std::string_view text, const std::vector<std::string>& backends,
                                       const std::string& where, support::Diagnostics& diags) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Strategy strategy;
  const auto known = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return k.first == name; });
  if (known == std::end(kKinds)) {
    std::vector<std::string> names;
    for (const auto& kind : kKinds) names.emplace_back(kind.first);
    return diags.error_at(support::Code::BadStrategy, where, "unknown strategy `{}`", name)
        .did_you_mean(support::closest(name, names))
        .note(
            "strategies are `optimal`, `greedy`, `eager`, `merge`, `tvm`, `evolve`, `priority:BACKEND,...` and "
            "`single:BACKEND`");
  }
  strategy.kind = known->second;
  const bool takes_names = strategy.kind == Strategy::Kind::Priority || strategy.kind == Strategy::Kind::Single;
  if (!takes_names) {
    if (colon == std::string_view::npos) return strategy;
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` takes no backends", name);
  }
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `{}` needs a backend: `{}:BACKEND`", name, name);
  }
  strategy.backends = runtime::split(text.substr(colon + 1), ',');
  for (const std::string& backend : strategy.backends) {
    if (backend == kHost || std::find(backends.begin(), backends.end(), backend) != backends.end()) continue;
    return diags.error_at(support::Code::BadStrategy, where, "unknown backend `{}`", backend)
        .did_you_mean(support::closest(backend, backends));
  }
  if (strategy.kind == Strategy::Kind::Single && strategy.backends.size() > 1) {
    return diags.error_at(support::Code::BadStrategy, where, "strategy `single` takes one backend, found {}",
                          strategy.backends.size());
  }
  return strategy;
}

bool takes_part(const Strategy& strategy, std::string_view backend) {
  return strategy.kind != Strategy::Kind::Single || backend == kHost || backend == strategy.backends.front();
}

std::optional<Solution> solve(const Problem& problem, const Strategy& strategy, const SearchOptions& options,
                              std::string* why) {
  const auto backend_of = [&](int candidate) -> const std::string& {
    const int owner = problem.candidates[static_cast<size_t>(candidate)].owner;
    return problem.owners[static_cast<size_t>(owner)].backend;
  };
  switch (strategy.kind) {
    case Strategy::Kind::Evolve:
    case Strategy::Kind::Optimal: {
      std::optional<Solution> solution = search_optimal(problem, options);
      return solution ? solution : search_greedy(problem, {all_candidates(problem)}, options);
    }
    case Strategy::Kind::Greedy: return search_greedy(problem, {all_candidates(problem)}, options);
    case Strategy::Kind::Priority:
    case Strategy::Kind::Eager: {
      std::vector<std::string> order = strategy.backends;
      if (strategy.kind == Strategy::Kind::Eager) order = registered(problem);
      order.emplace_back(kHost);
      std::vector<std::vector<int>> turns;
      for (const std::string& backend : order) {
        turns.push_back(candidates_where(problem, [&](int c) { return backend_of(c) == backend; }));
      }
      return search_greedy(problem, turns, options);
    }
    case Strategy::Kind::Merge: return search_merged(problem, options);
    case Strategy::Kind::Tvm: {
      TvmResult result = search_as_tvm(problem, options);
      if (why != nullptr) *why = result.failure;
      return result.solution;
    }
    case Strategy::Kind::Single: {
      const std::vector<int> kept =
          candidates_where(problem, [&](int c) { return takes_part(strategy, backend_of(c)); });
      std::optional<Solution> solution = search_among(problem, kept, options);
      if (solution) {
        solution->bound = Duration();
        solution->certificate = {};
        solution->optimal = false;
      }
      return solution;
    }
  }
  return std::nullopt;
}

}  // namespace collage::place
