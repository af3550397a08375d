// SPDX-License-Identifier: Apache-2.0
// Placements for makespan and for throughput, where resources work side by side. Not exact: what is found comes with a
// proven bound and the gap between the two.
//
// The search starts from the sequential optimum and what simpler strategies find, never makes these worse, and takes
// the best of
//   - the exact searches of priced problems (interval_bound.h): each also gives a bound, and its solution makes the
//     next prices;
//   - the exact search among candidates of chains, which keep apart what could run side by side;
//   - mixtures of these, a stretch of nodes from one and the rest from another;
//   - steps from the best so far: a partition, a chain of them or all of a device's from one on move to another owner;
//     a candidate comes in for all that overlap it;
//   - annealing from the best so far (anneal.h), cool at first, and warmer once more with all solutions known.
// The bound is the best of the priced problems', of a path's (parallel_bound.h) and of the longest node. Limits are
// kept throughout; priced searches know them, so they raise the bound as well.
// Work is bounded by numbers of searches and of scheduled tasks, never by time: the same problem, the same answer.
#pragma once

#include <functional>
#include <optional>
#include <vector>

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

/// `start` covers every node; if it breaks limits, any solution that keeps them is better. `others` are solutions that
/// the result is not worse than, as far as they keep the limits. `fits` says whether a solution is within limits that
/// the problem does not know; empty: all are.
ParallelResult search_parallel(const Problem& problem, const runtime::Machine& machine, const ScheduleValue& objective,
                               const Solution& start, const std::vector<Solution>& others = {},
                               const SearchOptions& options = {},
                               const std::function<bool(const Solution&)>& fits = {});

}  // namespace collage::place
