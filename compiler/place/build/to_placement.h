// SPDX-License-Identifier: Apache-2.0
// From chosen candidates to a placement: partitions with their boundaries, one for each region of joined units, and
// the conversions that feed them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/place/build/build_problem.h"

namespace collage::place {

/// Nodes of the problem are those of the graph; its values are `values` there. `matches_of` gives the matches of a
/// candidate; without it partitions have none, as is enough to price them. `times`: of a problem that is priced in
/// joules, the one with the same candidates and conversions that is priced in times, for placements never hold an
/// energy; without it they cost nothing.
///
/// After: partitions stand in an order in which they can run, named `p0`, `p1`, …; conversions by value, each after the
/// one that makes its source, named `x.npu0` for a copy of `x` in `npu[0]`, with `.1`, `.2`, … where that name is
/// taken.
ir::Placement to_placement(
    const Problem& problem, const Solution& solution, const ir::Graph& graph,
    const Table<ProblemValueId, ir::ValueId>& values,
    const std::function<std::vector<ir::ChosenMatch>(CandidateId candidate)>& matches_of = nullptr,
    const Problem* times = nullptr);

/// A solution of `built` (which may be a variant of the problem with the same candidates), with the matches that were
/// priced.
ir::Placement to_placement(const BuiltProblem& built, const Solution& solution, const ir::Graph& graph,
                           const Problem* times = nullptr);

/// Sorts partitions into an order in which they can run and names them `p0`, `p1`, …
void number_partitions(const ir::Graph& graph, ir::Placement& placement);

}  // namespace collage::place
