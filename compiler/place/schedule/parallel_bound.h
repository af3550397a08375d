// SPDX-License-Identifier: Apache-2.0
// A lower bound on the makespan by a path, over all solutions and all orders. (interval_bound.h adds what resources are
// busy with.)
//
// Let v1 … vk be nodes, each reading a value of the one before. In any solution, the nodes of one
// candidate on the path are neighbours on it, for the quotient has no cycle. So the path is cut into runs, each run is
// the whole of what its candidate has of the path, and the candidates start one after the other: each waits for the
// value that the run before it makes, and for its conversion where the formats differ, which takes at least the
// shortest chain of conversions. The cheapest such sequence of candidates is a lower bound on the makespan.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"
#include "runtime/core/duration.h"

namespace collage::place {

using runtime::Duration;

/// Nodes from a model input on, each reading a value of the one before: the longest path where node v takes
/// `length[v]`.
std::vector<NodeId> longest_path(const Problem& problem, const Table<NodeId, Duration>& length);

/// The bound by a path; `Duration::max()` proves that there is no solution.
Duration path_bound(const Problem& problem, const std::vector<NodeId>& path);

}  // namespace collage::place
