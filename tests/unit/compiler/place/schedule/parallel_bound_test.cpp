// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_bound.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/place/schedule/two_devices.h"

namespace collage::place {
namespace {

using Path = std::vector<NodeId>;

TEST(LongestPath, GoesWhereTheNodesTakeLongest) {
  // 0 -> 1 -> 3 and 0 -> 2 -> 3.
  const Sketch sketch(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const auto path = [&](int64_t first, int64_t second) {
    return longest_path(sketch.problem, {picoseconds(1), picoseconds(first), picoseconds(second), picoseconds(1)});
  };
  EXPECT_EQ(path(5, 6), (Path{0, 2, 3}));
  EXPECT_EQ(path(6, 5), (Path{0, 1, 3}));
}

TEST(LongestPath, MayEndBeforeTheLastNode) {
  const Sketch sketch(3, {{0, 1}});
  EXPECT_EQ(longest_path(sketch.problem, {picoseconds(3), picoseconds(3), picoseconds(5)}), (Path{0, 1}));
}

TEST(PathBound, IsTheCheapestWayAlongThePath) {
  // On the host 3 * 10; on the device 4 + 3 * 2 + 5.
  WithDevice sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(10);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1, 2}), picoseconds(30));
  sketch.add_singletons(2, sketch.npu, sketch.device);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1, 2}), picoseconds(15));
}

TEST(PathBound, WhatStandsBesideThePathCostsNothing) {
  WithDevice sketch(3, {{0, 1}});
  sketch.add_singletons(10);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1}), picoseconds(20));
}

TEST(PathBound, ACandidateThatLeavesThePathAndComesBackIsNotTaken) {
  WithDevice sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(10);
  sketch.add({0, 2}, 1);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1, 2}), picoseconds(30));
  sketch.add({1, 2}, 1);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1, 2}), picoseconds(11));
}

TEST(PathBound, ConversionsGoByTheirShortestChain) {
  // Over a layout on the host 1 + 1 instead of 4.
  WithDevice sketch(1, {});
  const FormatId between = sketch.add_format("host", "NHWC");
  sketch.convert(0, between, 1);
  sketch.convert(between, sketch.device, 1);
  sketch.add({0}, 10, sketch.npu, sketch.device);
  EXPECT_EQ(path_bound(sketch.problem, {0}), picoseconds(1 + 1 + 10 + 5));
}

TEST(PathBound, ANodeThatNothingRunsProvesThatThereIsNoSolution) {
  WithDevice sketch(2, {{0, 1}});
  sketch.add({0}, 10);
  EXPECT_EQ(path_bound(sketch.problem, {0, 1}), Duration::max());
}

TEST(PathBound, AnEmptyPathTakesNoTime) {
  const WithDevice sketch(1, {});
  EXPECT_EQ(path_bound(sketch.problem, {}), Duration());
}

TEST(PathBound, IsNotAboveTheMakespanOfAnySolution) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const WithDevice sketch = random_sketch(seed);
    Table<NodeId, Duration> length(sketch.problem.node_count, picoseconds(1));
    const Duration bound = path_bound(sketch.problem, longest_path(sketch.problem, length));
    SolutionScheduler scheduler(sketch.problem, WithDevice::machine());
    for_each_solution(sketch.problem, [&](const Solution& solution) {
      const std::vector<runtime::Task> tasks = scheduler.tasks(solution.chosen).value();
      EXPECT_LE(bound, makespan(tasks)) << seed;
      ++compared;
    });
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace collage::place
