// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/quick_limits.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// A chain with every node on the host (candidate v) and on a device in host memory (candidate node_count + v).
struct Chain : Sketch {
  explicit Chain(size_t node_count) : Sketch(node_count, edges(node_count)) {
    npu = add_owner("npu", "npu[0]");
    add_singletons(10);
    add_singletons(1, npu);
  }
  static std::vector<Edge> edges(size_t node_count) {
    std::vector<Edge> edges;
    for (size_t node = 1; node < node_count; ++node) edges.push_back({NodeId(node - 1), NodeId(node)});
    return edges;
  }

  OwnerId npu;
};

TEST(QuickLimits, WithoutLimitsNothingIsTooMuch) {
  const Chain chain(3);
  QuickLimits limits(chain.problem);
  EXPECT_EQ(limits.excess({3, 4, 5}), 0);
  EXPECT_TRUE(limits.admits({3, 4, 5}));
}

TEST(QuickLimits, PartitionsOverTheCountAreAPartOfIt) {
  Chain chain(4);
  chain.problem.owners[chain.npu].max_partitions = 2;
  QuickLimits limits(chain.problem);
  EXPECT_EQ(limits.excess({4, 1, 6, 3}), 0);
  EXPECT_TRUE(limits.admits({4, 1, 6, 3}));
  EXPECT_EQ(limits.excess({4, 5, 6, 3}), 0.5);
  EXPECT_FALSE(limits.admits({4, 5, 6, 3}));
  EXPECT_EQ(limits.excess({4, 5, 6, 7}), 1);
}

TEST(QuickLimits, OwnersOfOneBackendAreCountedTogether) {
  Chain chain(2);
  const OwnerId second = chain.add_owner("npu", "npu[1]");
  const CandidateId elsewhere = chain.add({1}, 1, second);
  for (OwnerId owner : {chain.npu, second}) chain.problem.owners[owner].max_partitions = 1;
  QuickLimits limits(chain.problem);
  EXPECT_TRUE(limits.admits({2, 1}));
  EXPECT_EQ(limits.excess({2, elsewhere}), 1);
  EXPECT_FALSE(limits.admits({2, elsewhere}));
}

TEST(QuickLimits, ABackendThatMayRunNothing) {
  Chain chain(2);
  chain.problem.owners[chain.npu].max_partitions = 0;
  QuickLimits limits(chain.problem);
  EXPECT_TRUE(limits.admits({0, 1}));
  EXPECT_EQ(limits.excess({2, 1}), 1);
  EXPECT_FALSE(limits.admits({2, 1}));
}

TEST(QuickLimits, ConflictsAreTheShareOfThePartitionsThatMeetThem) {
  Chain chain(4);
  chain.problem.owners[chain.npu].conflicts = {0};
  QuickLimits limits(chain.problem);
  EXPECT_TRUE(limits.admits({4, 5, 6, 7}));
  EXPECT_EQ(limits.excess({4, 1, 2, 3}), 0.25);
  EXPECT_EQ(limits.excess({4, 5, 2, 3}), 0.5);
  EXPECT_FALSE(limits.admits({4, 1, 2, 3}));
}

TEST(QuickLimits, ConstantsOfAnInstanceCountOnceAndBesideTheLargestStep) {
  Chain chain(2);
  for (ProblemValue& value : chain.problem.values) value.bytes = 10;
  chain.problem.constant_bytes = {100, 1};
  chain.problem.candidates[2].constants = {0};
  chain.problem.candidates[3].constants = {0, 1};
  // 101 of constants, 20 of what a node reads and makes.
  chain.problem.owners[chain.npu].memory = 121;
  EXPECT_TRUE(QuickLimits(chain.problem).admits({2, 3}));
  EXPECT_EQ(QuickLimits(chain.problem).excess({2, 3}), 0);
  chain.problem.owners[chain.npu].memory = 110;
  EXPECT_DOUBLE_EQ(QuickLimits(chain.problem).excess({2, 3}), 11.0 / 110);
  EXPECT_FALSE(QuickLimits(chain.problem).admits({2, 3}));
  EXPECT_TRUE(QuickLimits(chain.problem).admits({0, 1}));
}

TEST(QuickLimits, AConstantOnTwoInstancesCountsOnEach) {
  Chain chain(2);
  const OwnerId second = chain.add_owner("npu", "npu[1]");
  const CandidateId elsewhere = chain.add({1}, 1, second);
  chain.problem.constant_bytes = {100};
  chain.problem.candidates[2].constants = chain.problem.candidates[elsewhere].constants = {0};
  chain.problem.owners[chain.npu].memory = 100;
  chain.problem.owners[second].memory = 50;
  QuickLimits limits(chain.problem);
  EXPECT_EQ(limits.excess({2, elsewhere}), 1);  // 50 more than 50
  EXPECT_EQ(limits.excess({2, 1}), 0);
}

TEST(QuickLimits, WhatLivesOverOtherStepsIsKnownOnceItWasLookedFor) {
  // 0 -> 3 and 1 -> 2 -> 3. The result of 0 lives while 2 holds 1000 bytes of its own: 2000, and the largest step, that
  // of 3, is 1501.
  Sketch sketch(4, {{0, 3}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(1, npu);
  sketch.problem.values.front().bytes = 1;
  sketch.result_of(0).bytes = 1000;
  sketch.result_of(1).bytes = sketch.result_of(2).bytes = 500;
  sketch.result_of(3).bytes = 1;
  sketch.problem.owners[npu].memory = 1600;
  QuickLimits limits(sketch.problem);
  EXPECT_EQ(limits.excess({0, 1, 2, 3}), 0);
  EXPECT_FALSE(limits.admits({0, 1, 2, 3}));
  EXPECT_DOUBLE_EQ(limits.excess({0, 1, 2, 3}), 400.0 / 1600);
}

}  // namespace
}  // namespace collage::place
