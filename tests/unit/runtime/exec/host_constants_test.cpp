// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/host_constants.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime::test {
namespace {

TEST(HostConstants, MoveIntoOneRegionOnce) {
  TestPlan test(1);
  const BufferId first = test.constant(0, counting({3}, 1));
  const BufferId far = test.constant(1, counting({4}, 9));
  const BufferId second = test.constant(0, counting({70}, 5));
  Plan& plan = test.plan;
  join_host_constants(plan);
  ASSERT_EQ(plan.constants.size(), 1U);
  EXPECT_EQ(plan.constants[0].buffer, far);
  ASSERT_NE(plan.host_constants.first, nullptr);
  EXPECT_EQ(plan.host_constants.bytes, plan.spaces[0].constant_bytes);
  for (const auto& [buffer, start] : {std::pair(first, 1.0F), std::pair(second, 5.0F)}) {
    const size_t offset = plan.buffers[static_cast<size_t>(buffer)].offset;
    EXPECT_EQ(*reinterpret_cast<const float*>(plan.host_constants.first.get() + offset), start);
  }
  const std::byte* region = plan.host_constants.first.get();
  join_host_constants(plan);
  EXPECT_EQ(plan.host_constants.first.get(), region);
}

}  // namespace
}  // namespace collage::runtime::test
