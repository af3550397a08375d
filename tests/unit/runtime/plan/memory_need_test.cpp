// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/memory_need.h"

#include <gtest/gtest.h>

namespace collage::runtime {
namespace {

Plan plan_of(size_t bytes) {
  Plan plan;
  plan.spaces = {{"host", bytes + 128, 64, 0}};
  plan.buffers = {{"x", 0, false, 0, {DType::F32, {3}, {}}},
                  {"c", 0, false, 64, {DType::U8, {static_cast<int64_t>(bytes)}, {}}},
                  {"w", 0, true, 0, {DType::F32, {3}, {}}}};
  plan.steps = {HostStep{-1, {OpCall{"Expand", {}, {0}, {1}}}}};
  return plan;
}

TEST(MemoryNeed, NamesTheLargestBufferAndItsOperator) {
  EXPECT_EQ(memory_need(plan_of(1000)), "1192 bytes of memory, 1000 of them for `c` (Expand)");
  Plan plan = plan_of(1000);
  plan.steps = {HostStep{-1, {KernelCall{"k0", {0, 1}}}}};
  EXPECT_EQ(memory_need(plan), "1192 bytes of memory, 1000 of them for `c`");
  plan.steps = {HostStep{-1, {KernelCall{"k0", {0, 1}, 1, 1, 5000}}}};
  EXPECT_EQ(memory_need(plan), "5000 bytes of memory");
  // Results that are left out.
  plan.steps = {HostStep{-1, {OpCall{"Expand", {}, {0}, {-1}}}}};
  EXPECT_EQ(memory_need(plan), "1192 bytes of memory, 1000 of them for `c`");
  EXPECT_EQ(memory_need({}), "0 bytes of memory");
}

TEST(MemoryNeed, ConstantsThatAreMappedTakeNone) {
  Plan plan = plan_of(1000);
  const auto bytes = std::make_shared<const std::byte>();
  plan.host_constants = {bytes, 64};
  EXPECT_EQ(memory_need(plan), "1128 bytes of memory, 1000 of them for `c` (Expand)");
}

TEST(MemoryNeed, MoreThanThisMachineHasIsRefused) {
  EXPECT_TRUE(check_memory(plan_of(1000)));
  const Status status = check_memory(plan_of(size_t{1} << 50));
  ASSERT_FALSE(status);
  EXPECT_TRUE(
      status.message().starts_with("needs 1125899906842816 bytes of memory, 1125899906842624 of them for `c` "
                                   "(Expand); this "))
      << status.message();
  Plan plan = plan_of(size_t{1} << 50);
  plan.spaces[0].name = "host[1]";  // of another machine
  EXPECT_TRUE(check_memory(plan));
}

}  // namespace
}  // namespace collage::runtime
