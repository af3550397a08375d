// SPDX-License-Identifier: Apache-2.0
// Placements for makespan and for throughput, where resources work side by side. Not exact: what is found comes with a
// proven bound (parallel_bound.h) and the gap between the two.
//
// The search starts from the sequential optimum, which it never makes worse, and takes the best of
//   - the exact searches of weighted problems, whose weights move towards the busiest resources: each search also gives
//     a bound, and the weights are those that raise it;
//   - the exact search among candidates of chains, which keep apart what could run side by side;
//   - mixtures of these, a stretch of nodes from one and the rest from another;
//   - steps from the best so far: a partition, a chain of them or all of a device's from one on move to another owner;
//     a candidate comes in for all that overlap it.
// Work is bounded by numbers of searches and of scheduled tasks, never by time: the same problem, the same answer.
#pragma once

#include <functional>
#include <optional>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/problem.h"
#include "compiler/place/schedule/schedule_value.h"
#include "runtime/core/machine.h"

namespace collage::place {

struct ParallelResult {
  Solution solution;  ///< its cost is the sequential one
  Cost value;         ///< makespan, or time per input
  Cost bound;         ///< proven: no solution has less
};

/// `start` is a solution within all limits. `fits` says whether another one is within those that the problem does not
/// know; empty: all are.
ParallelResult search_parallel(const Problem& problem, const runtime::Machine& machine, const ScheduleValue& objective,
                               const Solution& start, const SearchOptions& options = {},
                               const std::function<bool(const Solution&)>& fits = {});

}  // namespace collage::place
