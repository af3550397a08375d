// SPDX-License-Identifier: Apache-2.0
// What the user has decided already: nodes pinned to a device, and partitions that the input model has.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/place/build/build_problem.h"

namespace collage::place {

/// Removes candidates that run a pinned node elsewhere. False after an error.
bool apply_pins(const ir::Graph& graph, const ir::RuleSet& registered, const std::vector<ActiveBackend>& backends,
                BuiltProblem* built, support::Diagnostics& diags);

/// Makes each partition of `fixed` the only candidate for its nodes. Its cost is the one written, or else what the
/// backend's rules say; with `measures` it may be left to be measured. False after an error.
bool apply_fixed(const ir::Graph& graph, const ir::RuleSet& registered, const std::vector<ActiveBackend>& backends,
                 const ir::Placement& fixed, const LayoutTable& layouts, bool measures, BuiltProblem* built,
                 support::Diagnostics& diags);

/// Adds each partition of `offered` to the candidates, at what the backend's rules say, unless it is one already. What
/// could not be followed as a whole is an error as it is there. False after an error.
bool apply_offered(const ir::Graph& graph, const ir::RuleSet& registered, const std::vector<ActiveBackend>& backends,
                   const ir::Placement& offered, const LayoutTable& layouts, bool measures, BuiltProblem* built,
                   support::Diagnostics& diags);

/// A candidate as if it had been chosen, in the formats that it really sees.
ir::Partition candidate_partition(const ir::Graph& graph, const BuiltProblem& built, size_t index);

/// Candidates that are to be measured and have not been.
std::vector<size_t> unmeasured_candidates(const BuiltProblem& built);

/// Measurements that failed for a reason of the moment.
struct MomentFailures {
  size_t estimated = 0;  ///< candidates that keep their estimate
  size_t asked = 0;      ///< of so many
  std::string reason;    ///< of the first
};

/// Asks `costs` for these candidates, at once. One that cannot run leaves the problem, with a refusal that says why;
/// the implicit host's and the partitions of `fixed` stay, at their estimates. So does any that has an estimate and
/// failed for a reason of the moment. False after an error: a partition of `fixed` has no cost.
bool measure_candidates(const ir::Graph& graph, const ir::Placement& fixed, CostSource& costs,
                        const std::vector<size_t>& asked, BuiltProblem* built, MomentFailures* moment,
                        support::Diagnostics& diags);

/// One warning, if there were any.
void report(const MomentFailures& moment, support::Diagnostics& diags);

/// Changes of layout in host memory, each distinct one once.
struct HostChanges {
  ir::Graph kernels;  ///< a node for each
  std::vector<ir::Partition> partitions;
  std::vector<std::vector<std::pair<size_t, size_t>>> edges;  ///< its conversions: value and edge
};
HostChanges host_changes(const ir::Graph& graph, const BuiltProblem& built);

/// Puts measured costs in the place of the estimates of changes of layout in host memory.
void measure_conversions(const ir::Graph& graph, CostSource& costs, BuiltProblem* built);

/// What `measure_lazily` leaves to its caller.
struct ProblemSteps {
  std::function<bool()> complete;  ///< after candidates went: others step in, pins and wishes hold. False: an error
  std::function<void()> convert;   ///< conversions and memory of the candidates that there are, anew
};

/// Measures no more than the best plan needs (lazy_costs.h). Where there is no plan, everything. What was not measured
/// has its bound as cost and is still `is_open`. False after an error.
bool measure_lazily(const ir::Graph& graph, const std::vector<ActiveBackend>& backends, const ir::Placement& fixed,
                    const BuildOptions& options, const ProblemSteps& steps, BuiltProblem* built,
                    support::Diagnostics& diags);

/// Removes candidates that a wish forbids (user_constraints.h). False after an error: a wish that leaves a node without
/// candidates.
bool apply_wishes(const ir::Graph& graph, const std::vector<ActiveBackend>& backends, const std::vector<Wish>& wishes,
                  BuiltProblem* built, support::Diagnostics& diags);

/// Makes a candidate one that is split over the members of a group.
void add_shares(const SplitCandidate& split, const Owner& group, Candidate* candidate);

/// A candidate of the implicit host rule, which can run any nodes as one partition. `nodes`: ascending, convex.
void add_on_host(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, BuiltProblem* built);

/// Index of the value in Problem::values.
int index_of_value(const BuiltProblem& built, ir::ValueId value);

/// Removes candidates for which `keep` is false.
template <typename Keep>
void filter_candidates(BuiltProblem* built, Keep keep) {
  size_t kept = 0;
  for (size_t i = 0; i < built->origins.size(); ++i) {
    if (!keep(built->problem.candidates[i])) continue;
    if (kept != i) {
      built->problem.candidates[kept] = std::move(built->problem.candidates[i]);
      built->origins[kept] = std::move(built->origins[i]);
    }
    ++kept;
  }
  built->problem.candidates.resize(kept);
  built->origins.resize(kept);
}

}  // namespace collage::place
