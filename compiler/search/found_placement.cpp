// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/found_placement.h"

#include <algorithm>

#include "compiler/place/build/coalesce.h"
#include "compiler/place/build/priced.h"
#include "compiler/place/build/to_placement.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/schedule/work_schedule.h"
#include "compiler/request/written_partitions.h"
#include "runtime/support/check.h"

namespace collage::search {
namespace {

/// The backend's `coalesce`; partitions that were written stay as they are.
bool may_join(const SearchInput& input, const ir::Partition& partition) {
  const ir::Backend* backend = input.rules.find(partition.backend);
  if (backend == nullptr || !backend->policy.coalesce) return false;
  return std::none_of(input.written.partitions.begin(), input.written.partitions.end(),
                      [&](const ir::Partition& written) { return written.nodes == partition.nodes; });
}

/// The backend's `deny`.
bool may_hold(const SearchInput& input, const std::string& backend, const std::vector<ir::NodeId>& nodes) {
  const auto& backends = input.built.backends;
  auto found = std::find_if(backends.begin(), backends.end(), [&](const auto& b) { return b.backend == backend; });
  return found == backends.end() || match::denied_in(found->denied, nodes) == nullptr;
}

/// Some backend denies nodes together that it takes one by one.
bool has_denied_sets(const SearchInput& input) {
  const auto& backends = input.built.backends;
  return std::any_of(backends.begin(), backends.end(), [](const auto& backend) {
    return std::any_of(backend.denied.begin(), backend.denied.end(),
                       [](const match::Denied& denied) { return denied.nodes.size() > 1; });
  });
}

/// The cost of a placement that must be valid.
Cost checked(const place::Verdict& verdict) {
  COLLAGE_CHECK(std::holds_alternative<Cost>(verdict), "the placement does not hold: {}",
                std::get<std::string>(verdict));
  return std::get<Cost>(verdict);
}

/// A placement, and what it costs one after the other before partitions were joined.
struct JoinedPlacement {
  ir::Placement placement;
  Cost apart;
};

JoinedPlacement join(const SearchInput& input, const place::Solution& solution, Joins joins) {
  ir::Placement placement = place::to_placement(input.priced_problem(), solution, input.graph, &input.built.problem);
  const Cost apart = checked(place::evaluate(input.graph, placement));
  if (joins == Joins::Yes && !input.objective->keeps_partitions_apart) {
    place::coalesce(
        input.graph, placement, [&](const ir::Partition& p) { return may_join(input, p); },
        !has_denied_sets(input)
            ? place::MayHold()
            : [&](const std::string& backend,
                  const std::vector<ir::NodeId>& nodes) { return may_hold(input, backend, nodes); });
  }
  request::keep_written_names(input.written, placement);
  return {std::move(placement), apart};
}

}  // namespace

Cost objective_value(const SearchInput& input, const ir::Placement& placement) {
  if (input.objective->is_concurrent()) {
    return Cost::time(input.objective->schedule->value(place::tasks_of(input.graph, placement, input.machine)));
  }
  if (input.priced != nullptr) return place::priced_value(*input.priced, placement);
  return checked(place::evaluate(input.graph, placement));
}

FoundPlacement to_found_placement(const SearchInput& input, const place::Solution& solution, Joins joins) {
  const place::BuiltProblem& built = input.priced_problem();
  FoundPlacement found;
  for (place::CandidateId c : solution.chosen) {
    const place::CandidateOrigin& origin = built.origin(c);
    if (origin.measured && !origin.unmeasured) found.measured.push_back({origin.measurement, origin.spread});
  }
  found.bound = solution.bound;
  found.chosen = solution.chosen;
  found.states = solution.states;
  found.is_known = solution.is_known;
  JoinedPlacement joined = join(input, solution, joins);
  found.placement = std::move(joined.placement);
  checked(place::evaluate(input.graph, found.placement));
  const bool overlaps = input.objective->is_concurrent();
  if (overlaps) {
    found.predicted = objective_value(input, found.placement);
  } else if (input.priced != nullptr) {
    found.predicted = checked(place::evaluate(input.priced->problem, solution));
  } else {
    found.predicted = joined.apart;
  }
  found.optimal = overlaps ? found.predicted == found.bound : solution.optimal;
  found.solution = solution;
  return found;
}

ir::Placement joined_placement(const SearchInput& input, const place::Solution& solution, Joins joins) {
  return join(input, solution, joins).placement;
}

}  // namespace collage::search
