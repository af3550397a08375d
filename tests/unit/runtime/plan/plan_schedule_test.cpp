// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/plan_schedule.h"

#include <gtest/gtest.h>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

std::vector<std::vector<int>> waits_of(const Plan& plan) {
  Machine machine = machine_of(plan.devices);
  std::vector<std::vector<int>> waits;
  for (const Task& task : tasks_of(plan, machine)) waits.push_back(task.after);
  return waits;
}

/// Two devices read what the host made, by a name of its own: the copies need not wait for each other.
TEST(PlanSchedule, ReadersOfAViewDoNotWaitForEachOther) {
  TestPlan plan(2);
  const BufferId x = plan.input({8}), made = plan.buffer(0, {8}), view = plan.buffer(0, {2, 4});
  const BufferId a = plan.buffer(1, {2, 4}), b = plan.buffer(2, {2, 4}), later = plan.buffer(0, {8});
  for (BufferId id : {view, later}) {
    plan.plan.buffers[static_cast<size_t>(id)].offset = plan.plan.buffers[static_cast<size_t>(made)].offset;
  }
  plan.host({op("Neg", {x}, {made})});   // 0
  plan.convert(view, a);                 // 1
  plan.convert(view, b);                 // 2
  plan.host({op("Abs", {x}, {later})});  // 3: over what both have read
  EXPECT_EQ(waits_of(plan.plan), (std::vector<std::vector<int>>{{}, {0}, {0}, {0, 1, 2}}));
}

TEST(PlanSchedule, AResultMadeWithoutTouchingItComesBeforeItsReaders) {
  TestPlan plan(1);
  const BufferId x = plan.input({8}), view = plan.buffer(0, {2, 4}), a = plan.buffer(1, {2, 4});
  plan.plan.buffers[static_cast<size_t>(view)].offset = plan.plan.buffers[static_cast<size_t>(x)].offset;
  plan.host({});          // 0: makes the view
  plan.convert(view, a);  // 1
  Machine machine = machine_of(plan.plan.devices);
  EXPECT_TRUE(tasks_of(plan.plan, machine)[1].after.empty());
  EXPECT_EQ(tasks_of(plan.plan, machine, {{view}, {view, a}})[1].after, (std::vector<int>{0}));
}

}  // namespace
}  // namespace collage::runtime
