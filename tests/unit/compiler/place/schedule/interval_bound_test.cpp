// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/interval_bound.h"

#include <gtest/gtest.h>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/schedule/parallel_bound.h"
#include "tests/unit/compiler/place/schedule/two_devices.h"

namespace collage::place {
namespace {

constexpr double kPathWeight = 0.5;

/// What the priced problem proves.
Duration bound_of(const IntervalBound& bound) {
  const Solution solution = search_optimal(bound.priced()).value();
  return bound.time_of(solution.bound);
}

/// The same, with weights for these solutions.
Duration weighed(IntervalBound& bound, const std::vector<std::vector<CandidateId>>& solutions) {
  for (const std::vector<CandidateId>& chosen : solutions) bound.add(chosen);
  bound.weigh();
  return bound_of(bound);
}

TEST(IntervalBound, OneResourceIsBusyWithAllWork) {
  Sketch sketch(4, {});
  sketch.add_singletons(10);
  const SolutionScheduler scheduler(sketch.problem, runtime::Machine());
  IntervalBound bound(sketch.problem, scheduler);
  EXPECT_EQ(weighed(bound, {{0, 1, 2, 3}}), picoseconds(40));
}

TEST(IntervalBound, EqualDevicesShareTheWork) {
  // Four nodes of 10 on either of two devices: no less than 20.
  Sketch sketch(4, {});
  sketch.add_singletons(10, sketch.add_owner("npu", "npu[0]"));
  sketch.add_singletons(10, sketch.add_owner("npu", "npu[1]"));
  const SolutionScheduler scheduler(sketch.problem, runtime::Machine());
  IntervalBound bound(sketch.problem, scheduler);
  EXPECT_EQ(weighed(bound, {{0, 1, 2, 3}, {4, 5, 6, 7}}), picoseconds(20));
}

TEST(IntervalBound, APathAddsUpWhatRunsOnSeveralDevices) {
  // 0 on one device, then 1 on the other: each is busy for 10, the path lasts 20.
  Sketch sketch(2, {{0, 1}});
  sketch.add({0}, 10, sketch.add_owner("npu", "npu[0]"));
  sketch.add({1}, 10, sketch.add_owner("npu", "npu[1]"));
  const SolutionScheduler scheduler(sketch.problem, runtime::Machine());
  IntervalBound without(sketch.problem, scheduler);
  EXPECT_EQ(weighed(without, {{0, 1}}), picoseconds(10));
  IntervalBound with(without, {0, 1}, kPathWeight);
  EXPECT_EQ(weighed(with, {{0, 1}}), picoseconds(20));
}

TEST(IntervalBound, WorkThatMustWaitDoesNotFallBesideThePath) {
  // 0 -> 1 on the host; before it, for 0, a device makes 30: no busy time shows that the host waits for it.
  Sketch sketch(3, {{0, 1}, {1, 2}});
  sketch.add({0}, 30, sketch.add_owner("npu", "npu[0]"));
  sketch.add({1}, 10);
  sketch.add({2}, 10);
  const SolutionScheduler scheduler(sketch.problem, runtime::Machine());
  IntervalBound without(sketch.problem, scheduler);
  EXPECT_LE(weighed(without, {{0, 1, 2}}), picoseconds(30));
  IntervalBound with(without, {1, 2}, kPathWeight);
  EXPECT_EQ(weighed(with, {{0, 1, 2}}), picoseconds(50));
}

TEST(IntervalBound, CopiesOnThePathCountAsItsTime) {
  // 4 over, 10, 5 back: the device's queue is busy with it all, and so is the path.
  WithDevice sketch(2, {{0, 1}});
  sketch.add({0}, 20);
  sketch.add({1}, 10, sketch.npu, sketch.device);
  const SolutionScheduler scheduler(sketch.problem, WithDevice::machine());
  IntervalBound without(sketch.problem, scheduler);
  EXPECT_EQ(weighed(without, {{0, 1}}), picoseconds(20));
  IntervalBound with(without, {0, 1}, kPathWeight);
  EXPECT_EQ(weighed(with, {{0, 1}}), picoseconds(20 + 4 + 10 + 5));
}

/// Bounds of a problem: without a path, and along its longest one.
struct Bounds {
  Duration without;
  Duration with;
};

Bounds bounds_of(const WithDevice& sketch, const SolutionScheduler& scheduler) {
  const Problem& problem = sketch.problem;
  std::vector<CandidateId> on_host;
  for (CandidateId c : problem.candidates.ids()) {
    if (problem.candidates[c].owner == 0) on_host.push_back(c);
  }
  const Solution best = search_optimal(problem).value();
  IntervalBound without(problem, scheduler);
  const Duration busy = weighed(without, {on_host, best.chosen});
  IntervalBound with(without, longest_path(problem, Table<NodeId, Duration>(problem.node_count, picoseconds(1))),
                     kPathWeight);
  return {busy, weighed(with, {on_host, best.chosen})};
}

TEST(IntervalBound, IsNotAboveWhatAnySolutionTakes) {
  int solutions = 0, met = 0, by_path = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const WithDevice sketch = random_sketch(seed);
    SolutionScheduler scheduler(sketch.problem, WithDevice::machine());
    const Bounds bounds = bounds_of(sketch, scheduler);
    Duration least = Duration::max();
    for_each_solution(sketch.problem, [&](const Solution& solution) {
      const std::vector<runtime::Task> tasks = scheduler.tasks(solution.chosen).value();
      const std::vector<Duration> busy = busy_times(tasks);
      EXPECT_LE(bounds.without, *std::max_element(busy.begin(), busy.end())) << seed;
      EXPECT_LE(bounds.with, makespan(tasks)) << seed;
      least = std::min(least, makespan(reordered(tasks, good_order(tasks))));
      ++solutions;
    });
    met += bounds.with == least ? 1 : 0;
    by_path += bounds.with > bounds.without ? 1 : 0;
  }
  EXPECT_GT(solutions, 300);
  EXPECT_GT(met, 10);
  EXPECT_GT(by_path, 10);
}

}  // namespace
}  // namespace collage::place
