// SPDX-License-Identifier: Apache-2.0
// A lower bound on makespan and time per input that knows both what resources are busy with and what waits for what.
//
// Let v1 … vn be a path: each node waits for the one before. In any solution the candidates that hold its nodes run
// one after the other, so they cut the time into 2n+1 intervals, some of them empty: before v1, while v1 runs, between
// v1 and v2, … , after vn. All other work falls into intervals that its ancestors and descendants on the path allow, in
// parts if it will. For weights w(i, r) >= 0 of the resources in each interval i, and w(i, path), that add up to 1 in
// each,
//
//     length of i  >=  sum over r of w(i, r) * busy(r) within i  +  w(i, path) * what the path itself does within i
//
// So all intervals together last at least as long as the sum of all work, each piece at the lowest weight of the
// intervals allowed for it. That is a placement problem like the first, with other costs (and the values on the path
// once more, for what the path waits), so its proven bound is one here. Without a path it is the bound by the busiest
// resource alone.
//
// The bound holds for any weights. Those used are found by multiplicative steps that make the cheapest of the given
// solutions as expensive as possible; each solution of a priced problem is given in turn.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/schedule/work_schedule.h"

namespace collage::place {

class IntervalBound {
 public:
  /// Without a path: one interval, all the time. Both arguments must stay.
  IntervalBound(const Problem& problem, const SolutionScheduler& scheduler);
  /// Starts from the weights that were found without a path, and this much for the path beside 1 for all of them.
  IntervalBound(const IntervalBound& without, std::vector<NodeId> path, double path_weight);

  /// One more solution that the weights are to make expensive. Expects one that can be scheduled.
  void add(const std::vector<CandidateId>& chosen);
  /// Chooses weights for the solutions added so far.
  void weigh();
  /// The problem with those weights as prices. Its candidates are those of the problem.
  Problem priced() const;
  /// What the priced problem's bound says of the time.
  Duration time_of(Cost bound) const;

 private:
  /// Intervals: 2k is the one before the path's node k, 2k+1 the one in which that runs.
  struct Range {
    int first = 0;
    int last = 0;
  };
  /// Work of a solution that pays the least weight of a range.
  struct Term {
    double time = 0;
    std::vector<int> resources;
    Range range;
  };
  struct Terms {
    std::vector<Term> list;
    double value = 0;  ///< under the weights of the last `price`
  };

  int interval_count() const { return 2 * static_cast<int>(path_.size()) + 1; }
  size_t slot(int interval, int resource) const {
    return static_cast<size_t>(interval) * (resource_count_ + 1) + static_cast<size_t>(resource);
  }
  int path_resource() const { return static_cast<int>(resource_count_); }

  IntervalBound(const Problem& problem, const SolutionScheduler& scheduler, std::vector<NodeId> path);
  void find_ranges();
  /// Leaves out nodes of the path where intervals are so many that weights would take long.
  void thin_path();
  Range range_of(const Candidate& candidate, bool* is_on_path) const;
  Range range_of(const ProblemValue& value) const;
  std::vector<int> with_path(std::vector<int> resources) const;
  template <typename Number>
  Number least(const std::vector<Number>& weights, const std::vector<int>& resources, Range range, int* at) const;
  double price(const Terms& terms, const std::vector<double>& weights, std::vector<double>* slope) const;
  std::vector<int> whole_weights() const;

  const Problem& problem_;
  const SolutionScheduler& scheduler_;
  std::vector<NodeId> path_;
  size_t resource_count_;
  Table<NodeId, int> place_;          ///< on the path; -1: not on it
  Table<NodeId, int> after_;          ///< the last node of the path that it waits for, itself if it is one; -1: none
  Table<NodeId, int> before_;         ///< the first node of the path that waits for it; the path's length: none
  std::vector<ProblemValueId> link_;  ///< read by the path's node k from the one before, if so; the last: its output
  std::vector<Terms> solutions_;
  std::vector<double> weights_;  ///< by interval and resource, the path as the last of these
};

}  // namespace collage::place
