// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/usual_threads.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using test::TestPlan;

constexpr int64_t kMicrosecond = 1'000'000;  // picoseconds

int add_partition(TestPlan& plan, int64_t microseconds) {
  PlanPartition partition{"p", "host", "host", {}, Duration::picoseconds(microseconds * kMicrosecond)};
  plan.plan.partitions.push_back(std::move(partition));
  return static_cast<int>(plan.plan.partitions.size()) - 1;
}

void add_library_step(TestPlan& plan, int64_t microseconds, size_t operators) {
  LibraryStep step{add_partition(plan, microseconds), {"onednn", {}, {}, {}, {}}};
  step.call.program.ops.resize(operators);
  plan.plan.steps.emplace_back(std::move(step));
}

void add_kernel_step(TestPlan& plan, int64_t microseconds, int64_t extent, int64_t grain) {
  KernelCall call{"k", {}, extent, grain};
  plan.plan.steps.emplace_back(HostStep{add_partition(plan, microseconds), {std::move(call)}});
}

TEST(UsualThreads, AShortPlanHasOne) {
  TestPlan digits;
  add_library_step(digits, 12, 9);
  EXPECT_EQ(usual_threads(digits.plan, 2), 1);
  EXPECT_EQ(usual_threads(digits.plan, 16), 1);
  EXPECT_EQ(usual_threads(digits.plan, 1), 1);
}

TEST(UsualThreads, ALongPlanHasAll) {
  TestPlan network;
  add_library_step(network, 30'000, 100);
  EXPECT_EQ(usual_threads(network.plan, 2), 2);
}

/// 20 us by 16 threads may be 300 us by one.
TEST(UsualThreads, CountsTheWorkOfAllThreads) {
  TestPlan one_loop;
  add_library_step(one_loop, 20, 1);
  EXPECT_EQ(usual_threads(one_loop.plan, 2), 1);
  EXPECT_EQ(usual_threads(one_loop.plan, 16), 16);
}

TEST(UsualThreads, KernelsThatAreNotDividedAreTheWorkOfOne) {
  TestPlan whole, divided;
  add_kernel_step(whole, 40, 8, 8);
  add_kernel_step(divided, 40, 16, 1);
  EXPECT_EQ(usual_threads(whole.plan, 16), 1);
  EXPECT_EQ(usual_threads(divided.plan, 16), 16);
}

TEST(UsualThreads, WhatStatesNoTimeMayTakeAny) {
  TestPlan unknown;
  add_kernel_step(unknown, 0, 1, 1);
  EXPECT_EQ(usual_threads(unknown.plan, 2), 2);
}

TEST(UsualThreads, WorkOfDevicesIsNotTheHosts) {
  TestPlan plan(1);
  const BufferId x = plan.input({8}), there = plan.buffer(1, {8});
  plan.convert(x, there, 500 * kMicrosecond);
  plan.device(0, {}, 500 * kMicrosecond);
  EXPECT_EQ(usual_threads(plan.plan, 2), 1);
}

}  // namespace
}  // namespace collage::runtime
