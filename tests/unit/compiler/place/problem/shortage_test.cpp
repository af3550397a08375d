// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/shortage.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// Two nodes one after the other on two hosts, each with a constant of 100 bytes of its own; values of 10 bytes.
class ShortageOfTwo : public ::testing::Test {
 protected:
  ShortageOfTwo() : sketch_(2, {{0, 1}}) {
    second_ = sketch_.add_owner("host", "host[1]");
    for (OwnerId owner : {OwnerId(0), second_}) sketch_.add_singletons(1, owner);
    sketch_.problem.constant_bytes = {100, 100};
    for (Candidate& candidate : sketch_.problem.candidates) {
      candidate.constants = {ConstantId(candidate.nodes.front().slot())};
    }
    for (ProblemValue& value : sketch_.problem.values) value.bytes = 10;
  }

  std::optional<Shortage> with(size_t first, size_t second) const {
    return shortage_of(sketch_.problem, {{"host", first}, {"host[1]", second}});
  }

  Sketch sketch_;
  OwnerId second_;
};

TEST_F(ShortageOfTwo, AllMemoriesTogetherHoldConstantsAndWork) {
  EXPECT_FALSE(with(110, 110).has_value());
  const std::optional<Shortage> shortage = with(110, 105);
  ASSERT_TRUE(shortage.has_value());
  EXPECT_FALSE(shortage->node.is_valid());
  EXPECT_EQ(shortage->constants, 200u);
  EXPECT_EQ(shortage->working, 20u);
  EXPECT_EQ(shortage->missing(), 5u);
  ASSERT_EQ(shortage->memories.size(), 2u);
  EXPECT_EQ(shortage->memories[1].instance, "host[1]");
}

TEST_F(ShortageOfTwo, OneMemoryHoldsTheConstantsOfANodeAndItsLargestValue) {
  sketch_.problem.constant_bytes = {100, 40};
  EXPECT_FALSE(with(110, 60).has_value());
  const std::optional<Shortage> shortage = with(90, 90);
  ASSERT_TRUE(shortage.has_value());
  EXPECT_EQ(shortage->node, NodeId(0));
  EXPECT_EQ(shortage->constants, 100u);
  EXPECT_EQ(shortage->working, 10u);
  EXPECT_EQ(shortage->missing(), 20u);
}

TEST_F(ShortageOfTwo, ANodeThatMayBeCutFitsAnywhere) {
  sketch_.problem.constant_bytes = {100, 40};
  const CandidateId cut = sketch_.add({0}, 1, second_);
  sketch_.problem.candidates[cut].shares = {{OwnerId(0), 50, 10}, {second_, 50, 10}};
  EXPECT_FALSE(with(90, 90).has_value());
}

TEST_F(ShortageOfTwo, AMemoryWithoutALimitHoldsAnything) {
  EXPECT_FALSE(shortage_of(sketch_.problem, {{"host", 1}}).has_value());
  EXPECT_FALSE(shortage_of(sketch_.problem, {}).has_value());
}

}  // namespace
}  // namespace collage::place
