// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/why_no_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/place/build/built_problem.h"
#include "compiler/search/lift_limits.h"
#include "compiler/search/placement_search.h"

namespace collage::search {
namespace {

/// A placement that keeps all other limits.
std::optional<place::Solution> solve_without(const SearchInput& input, const place::Strategy& strategy,
                                             LimitKind kind) {
  const LiftedSearch lifted = without_limits(input, {{kind}});
  return PlacementSearch(lifted.input, strategy).solve(*lifted.built).to_optional();
}

/// The limit of backends without which there would be a placement; empty if it is none of them alone.
std::string deciding_limit(const SearchInput& input, const place::Strategy& strategy) {
  const place::Problem& problem = input.built.problem;
  const auto owner_of = [&](place::CandidateId c) { return problem.candidates[c].owner; };
  if (auto free = solve_without(input, strategy, LimitKind::MaxPartitions)) {
    std::map<std::string, int> counts;
    for (place::CandidateId c : free->chosen) {
      const place::Owner& owner = problem.owners[owner_of(c)];
      if (owner.max_partitions && ++counts[owner.backend] > *owner.max_partitions) {
        return fmt::format("`max partitions {}` of `{}` is too few for what has to run there", *owner.max_partitions,
                           owner.backend);
      }
    }
  }
  if (auto free = solve_without(input, strategy, LimitKind::Conflicts)) {
    for (place::CandidateId a : free->chosen) {
      const place::Owner& owner = problem.owners[owner_of(a)];
      for (place::CandidateId b : free->chosen) {
        if (std::count(owner.conflicts.begin(), owner.conflicts.end(), owner_of(b)) == 0) continue;
        return fmt::format("it needs both `{}` and `{}`, which conflict", owner.backend,
                           problem.owners[owner_of(b)].backend);
      }
    }
  }
  return "";
}

}  // namespace

std::string why_no_placement(const SearchInput& input, const place::Strategy& strategy) {
  const place::Problem& problem = input.built.problem;
  support::Table<ir::NodeId, bool> can_run(input.graph.node_count());
  support::Table<ir::NodeId, std::string> elsewhere(input.graph.node_count());
  for (const place::Candidate& candidate : problem.candidates) {
    const place::Owner& owner = problem.owners[candidate.owner];
    for (ir::NodeId node : candidate.nodes) {
      can_run[node] = can_run[node] || place::takes_part(strategy, owner.backend);
      elsewhere[node] = owner.instance;
    }
  }
  for (ir::NodeId node : input.graph.node_ids()) {
    if (can_run[node]) continue;
    return fmt::format("it has nothing for `%{}`, which may only run on `{}`", input.graph.node_name(node),
                       elsewhere[node]);
  }
  if (std::string limit = deciding_limit(input, strategy); !limit.empty()) return limit;
  return "what is left after pins, options and limits does not fit together, or some value cannot reach a place where "
         "it is needed";
}

}  // namespace collage::search
