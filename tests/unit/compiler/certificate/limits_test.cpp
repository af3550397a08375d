// SPDX-License-Identifier: Apache-2.0
// What candidates take of limits, and the prices of these.
#include "compiler/certificate/limits.h"

#include <gtest/gtest.h>

#include "compiler/certificate/limit_prices.h"
#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using place::Proof;
using place::ps;
using place::Sketch;
using Of = Proof::LimitPrice::Of;

TEST(Limits, AreOfABackendAndOfAnInstance) {
  Sketch sketch(1, {});
  for (const char* instance : {"npu[0]", "npu[1]", "npu[1]"}) sketch.add_owner("npu", instance);
  sketch.problem.owners[1].max_partitions = 3;
  sketch.problem.owners[2].max_partitions = 5;
  sketch.problem.owners[2].memory = 200;
  sketch.problem.owners[3].memory = 100;
  const Limits limits(sketch.problem);
  EXPECT_FALSE(limits.counter_of(0).is_valid());
  EXPECT_EQ(limits.counters(), 1u);
  EXPECT_EQ(limits.most_partitions(limits.counter_of(1)), 5);
  EXPECT_EQ(limits.instances(), 1u);
  EXPECT_FALSE(limits.instance_of(OwnerId(1)).is_valid());
  EXPECT_EQ(limits.memory(limits.instance_of(OwnerId(2))), 100);
}

TEST(Limits, ConflictsWorkBothWays) {
  Sketch sketch(1, {});
  sketch.add_owner("npu", "npu[0]");
  sketch.problem.owners[1].conflicts = {0};
  const Limits limits(sketch.problem);
  EXPECT_TRUE(limits.conflict(0, 1));
  EXPECT_TRUE(limits.conflict(1, 0));
  EXPECT_FALSE(limits.conflict(1, 1));
}

TEST(Limits, WorkingBytesAreTheMostAtOneNode) {
  // x: 10 -> 20 -> 40.
  Sketch sketch(2, {{0, 1}});
  sketch.problem.values[0].bytes = 10;
  sketch.result_of(0).bytes = 20;
  sketch.result_of(1).bytes = 40;
  sketch.add({0, 1}, 1);
  sketch.add({0}, 1);
  sketch.add({0, 1}, 1);
  sketch.problem.candidates[2].kept = {1};
  const Limits limits(sketch.problem);
  EXPECT_TRUE(limits.working_bytes(0) == 40);  // the operand is gone when the result is made
  EXPECT_TRUE(limits.working_bytes(1) == 10 + 20);
  EXPECT_TRUE(limits.working_bytes(2) == 20 + 40);
}

TEST(Limits, SureBytesAreOfConstantsThatNoSecondCandidateCanHold) {
  Sketch sketch(2, {{0, 1}});
  sketch.problem.owners[0].memory = 1000;
  sketch.problem.constant_bytes = {100, 7};
  sketch.add({0}, 1);
  sketch.add({0, 1}, 1);
  sketch.add({1}, 1);
  sketch.problem.candidates[0].constants = {0};
  sketch.problem.candidates[1].constants = {0, 1};
  sketch.problem.candidates[2].constants = {1};
  EXPECT_TRUE(Limits(sketch.problem).sure_bytes(1) == 107);
  // Candidates 0 and 2 can be in one plan: each may hold the constant.
  sketch.problem.candidates[2].constants = {0, 1};
  EXPECT_TRUE(Limits(sketch.problem).sure_bytes(0) == 0);
  EXPECT_TRUE(Limits(sketch.problem).sure_bytes(1) == 7);
}

/// A candidate of 10 on a device that may run three partitions and has 4 MiB, with a constant of 1.5 MiB.
class LimitPricesTest : public ::testing::Test {
 protected:
  LimitPricesTest() {
    const OwnerId npu = sketch_.add_owner("npu", "npu[0]");
    sketch_.add({0}, 10, npu);
    sketch_.problem.owners[npu].max_partitions = 3;
    sketch_.problem.owners[npu].memory = 4 * place::kPricedBytes;
    sketch_.problem.constant_bytes = {place::kPricedBytes * 3 / 2};
    sketch_.problem.candidates[0].constants = {0};
  }
  runtime::Result<LimitPrices> priced(std::vector<Proof::LimitPrice> prices) const {
    Proof::Round round;
    round.limits = std::move(prices);
    return LimitPrices::of(sketch_.problem, limits(), round, {Wide{place::kPricedBytes * 3 / 2}});
  }
  const Limits& limits() const {
    if (!limits_) limits_.emplace(sketch_.problem);
    return *limits_;
  }

  Sketch sketch_{1, {}};
  mutable std::optional<Limits> limits_;
};

TEST_F(LimitPricesTest, APartitionCostsItsPriceAndTheLimitPaysItBack) {
  const runtime::Result<LimitPrices> prices = priced({{Of::Partitions, 1, ps(7)}});
  ASSERT_EQ(fault(prices), "");
  EXPECT_TRUE(prices->priced_cost(0, 2) == 2 * 10 + 7);
  EXPECT_TRUE(prices->credit() == 3 * 7);
}

TEST_F(LimitPricesTest, MemoryIsRoundedAgainstTheBound) {
  // 5 per MiB, 7.5 of the constant and 7.5 of the room.
  const runtime::Result<LimitPrices> prices = priced({{Of::Memory, 1, ps(5)}});
  ASSERT_EQ(fault(prices), "");
  EXPECT_TRUE(prices->priced_cost(0, 1) == 10 + 7);
  EXPECT_TRUE(prices->credit() == 8);
  EXPECT_TRUE(prices->credit({Wide{place::kPricedBytes}}) == 5);
  EXPECT_TRUE(prices->credit({Wide{-1}}) == 0);
}

TEST_F(LimitPricesTest, PricesThatNoRoundCanHave) {
  EXPECT_EQ(fault(priced({{Of::Partitions, 1, ps(-1)}})), "the price of a limit is negative");
  EXPECT_EQ(fault(priced({{Of::Partitions, 0, ps(1)}})), "a price for a limit of partitions that there is not");
  EXPECT_EQ(fault(priced({{Of::Memory, 0, ps(1)}})), "a price for a limit of memory that there is not");
  EXPECT_EQ(fault(priced({{Of::Partitions, 1, ps(1)}, {Of::Partitions, 1, ps(1)}})),
            "a limit of partitions has two prices");
  EXPECT_EQ(fault(priced({{Of::Memory, 1, ps(1)}, {Of::Memory, 1, ps(1)}})), "a limit of memory has two prices");
}

}  // namespace
}  // namespace collage::certificate
