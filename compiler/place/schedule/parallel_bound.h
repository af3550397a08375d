// SPDX-License-Identifier: Apache-2.0
// Lower bounds on makespan and time per input, over all solutions and all orders.
//
// *By work.* Give each resource r a weight w(r) >= 0 such that they add up to W. For every solution,
//
//     W * makespan  >=  W * (greatest busy time)  >=  sum over r of w(r) * busy(r)
//                    =  sum over its candidates and conversions x of  cost(x) * (sum of w(r) over what x holds)
//
// The last line is a placement problem like the first, with other costs, so its proven bound over W is one here. The
// true arborescence of a value may not be the cheapest under these costs, which makes the right side only smaller.
//
// *By a path.* Let v1 … vk be nodes, each reading a value of the one before. In any solution, the nodes of one
// candidate on the path are neighbours on it, for the quotient has no cycle. So the path is cut into runs, each run is
// the whole of what its candidate has of the path, and the candidates start one after the other: each waits for the
// value that the run before it makes, and for its conversion where the formats differ, which takes at least the
// shortest chain of conversions. The cheapest such sequence of candidates is a lower bound on the makespan.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/schedule/work_schedule.h"

namespace collage::place {

/// The problem whose costs are weighted: a cost of t becomes t * the weights of what it holds.
Problem weighted(const Problem& problem, const SolutionScheduler& scheduler, const Table<ResourceId, int>& weights);

/// Nodes from a model input on, each reading a value of the one before: the longest path where node v takes
/// `length[v]`.
std::vector<NodeId> longest_path(const Problem& problem, const Table<NodeId, Duration>& length);

/// The bound by a path; `Duration::max()` proves that there is no solution.
Duration path_bound(const Problem& problem, const std::vector<NodeId>& path);

}  // namespace collage::place
