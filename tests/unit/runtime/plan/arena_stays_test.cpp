// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/arena_stays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

TEST(ArenaStays, ARunIsInAMemoryWhereItTouchesIt) {
  TestPlan plan(2);
  const BufferId x = plan.input({8}), weight = plan.constant(2, counting({8}));
  const BufferId a = plan.buffer(1, {8}), b = plan.buffer(1, {8}), c = plan.buffer(2, {8}), d = plan.buffer(2, {8});
  const BufferId y = plan.buffer(0, {8});
  plan.convert(x, a);                                // 0
  plan.device(0, {op("Neg", {a}, {b})}, 1);          // 1
  plan.convert(b, c);                                // 2
  plan.device(1, {op("Add", {c, weight}, {d})}, 1);  // 3
  plan.convert(d, y);                                // 4
  EXPECT_EQ(steps_in_arenas(plan.plan), (std::vector<std::vector<int>>{{0, 1, 2, 3, 4}, {0, 1, 2}, {2, 3, 4}}));
  // Without ports, as in the part of another host, also that of the host.
  plan.plan.inputs.clear();
  EXPECT_EQ(steps_in_arenas(plan.plan), (std::vector<std::vector<int>>{{0, 4}, {0, 1, 2}, {2, 3, 4}}));
}

TEST(ArenaStays, SoManyArenasFit) {
  EXPECT_EQ(arenas_that_fit(0, 100, 64), SIZE_MAX);
  EXPECT_EQ(arenas_that_fit(1000, 100, 0), SIZE_MAX);
  EXPECT_EQ(arenas_that_fit(1000, 64, 300), 2U);  // 320 bytes each
  EXPECT_EQ(arenas_that_fit(1024, 64, 320), 3U);
  EXPECT_EQ(arenas_that_fit(1000, 1000, 64), 0U);
  EXPECT_EQ(arenas_that_fit(1000, 2000, 64), 0U);
}

TEST(ArenaStays, AnArenaIsUsedAgainAfterSoManyRuns) {
  EXPECT_EQ(runs_to_next_use(4, 4), 4);
  EXPECT_EQ(runs_to_next_use(4, 9), 4);
  EXPECT_EQ(runs_to_next_use(4, 2), 2);
  EXPECT_EQ(runs_to_next_use(5, 1), 1);
  EXPECT_EQ(runs_to_next_use(4, 3), 1);  // 0 1 2 0 | 0 1 2 0
  for (int executions = 1; executions < 9; ++executions) {
    for (int arenas = 1; arenas <= executions; ++arenas) {
      int least = executions;
      for (int run = 0; run < 2 * executions; ++run) {
        for (int next = run + 1; next < 2 * executions; ++next) {
          if (next % executions % arenas == run % executions % arenas) least = std::min(least, next - run);
        }
      }
      EXPECT_EQ(runs_to_next_use(executions, arenas), least) << executions << " " << arenas;
    }
  }
}

}  // namespace
}  // namespace collage::runtime
