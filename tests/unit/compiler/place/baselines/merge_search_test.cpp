// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/baselines/merge_search.h"

#include <gtest/gtest.h>

#include "compiler/place/solve.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

using Regions = Table<NodeId, MergedRegionId>;

runtime::Result<Solution> merged(const Problem& problem) {
  return solve(problem, {Strategy::Kind::Merge, {}});
}

TEST(Merge, TheFirstBackendThatHasANodeGetsIt) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  const OwnerId lib = sketch.add_owner("lib", "host");
  sketch.add_singletons(1);
  sketch.add({0}, 9, npu);
  for (NodeId node : std::vector<NodeId>{0, 1}) sketch.add({node}, 5, lib);
  EXPECT_EQ(merged_regions(sketch.problem), (Regions{0, 1, 2}));
  const runtime::Result<Solution> solution = merged(sketch.problem);
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->cost.count(), 9 + 5 + 1);
}

TEST(Merge, NeighboursBecomeOnePartition) {
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(1);
  for (NodeId node : std::vector<NodeId>{0, 1, 3}) sketch.add({node}, 5, npu);
  sketch.add({0, 1}, 7, npu);
  EXPECT_EQ(merged_regions(sketch.problem), (Regions{0, 0, 1, 2}));
  EXPECT_EQ(chosen_sets(sketch.problem, *merged(sketch.problem)), (std::set<std::vector<NodeId>>{{0, 1}, {2}, {3}}));
}

TEST(Merge, APathThroughAnotherRegionKeepsThemApart) {
  // 0 and 2 are the npu's, 1 between them is not: 0 -> 2 directly, and 0 -> 1 -> 2.
  Sketch sketch(3, {{0, 1}, {1, 2}, {0, 2}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add({1}, 1);
  for (NodeId node : std::vector<NodeId>{0, 2}) sketch.add({node}, 1, npu);
  EXPECT_EQ(merged_regions(sketch.problem), (Regions{0, 1, 2}));
}

TEST(Merge, TwoRegionsNeverWaitForEachOther) {
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  const OwnerId lib = sketch.add_owner("lib", "host");
  for (NodeId node : std::vector<NodeId>{0, 2}) sketch.add({node}, 1, npu);
  for (NodeId node : std::vector<NodeId>{1, 3}) sketch.add({node}, 1, lib);
  EXPECT_EQ(merged_regions(sketch.problem), (Regions{0, 1, 0, 2}));
}

TEST(Merge, ARegionPastTheLimitsIsTakenInPieces) {
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add_singletons(1);
  sketch.add_singletons(5, npu);
  sketch.add({0, 1}, 7, npu);
  sketch.add({1, 2}, 6, npu);
  sketch.add({2, 3}, 7, npu);
  EXPECT_EQ(merged_regions(sketch.problem), (Regions{0, 0, 0, 0}));
  // The cheaper of equally large ones first, as the backend alone would.
  EXPECT_EQ(merged(sketch.problem)->cost.count(), 5 + 6 + 5);
}

TEST(Merge, TheHostIsLastWhateverTheOrder) {
  Sketch sketch(2, {{0, 1}});
  sketch.add_singletons(1);
  const OwnerId npu = sketch.add_owner("npu", "host");
  sketch.add({1}, 9, npu);
  EXPECT_EQ(merged(sketch.problem)->cost.count(), 1 + 9);
}

}  // namespace
}  // namespace collage::place
