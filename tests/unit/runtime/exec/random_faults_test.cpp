// SPDX-License-Identifier: Apache-2.0
// Random plans on random devices with random faults: each request ends with the right result or with an error that
// names a device, and all memory of devices is given back.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/exec/executor.h"
#include "runtime/exec/relocate.h"
#include "runtime/exec/requests.h"
#include "tests/unit/runtime/exec/chooser.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// Values wander over the memories: operators where they are, conversions between.
struct WanderingPlan {
  explicit WanderingPlan(Chooser& choose) : test(1 + choose.below(3)) {
    const int devices = static_cast<int>(test.plan.devices.size());
    test.plan.is_concurrent = choose.chance(40);
    const bool is_realtime = choose.chance(20);
    for (DeviceSpec& device : test.plan.devices) {
      device.copy_queue = choose.chance(50);
      if (is_realtime) device.attrs.set("realtime", int64_t{1});
      if (choose.chance(20)) device.attrs.set("lanes", int64_t{4});  // no longer equal
    }
    const Shape shape{2, 3, 2, 4};
    const BufferId x = test.input(shape), z = test.input(shape);
    std::vector<BufferId> constants{test.constant(0, counting(shape, -9))};
    for (int d = 1; d <= devices; ++d) constants.push_back(test.constant(d, counting({4}, static_cast<float>(d))));
    std::vector<BufferId> values{x, z};
    const int steps = 2 + choose.below(14);
    for (int s = 0; s < steps; ++s) {
      const BufferId from = choose.of(values);
      const int space = test.plan.buffers[static_cast<size_t>(from)].space;
      if (choose.chance(45)) {
        const int to = choose.below(devices + 1);
        const std::string layout = to == 0 || (space != 0 && to != space) ? layout_of(from) : choose.of(layouts);
        const BufferId moved = test.buffer(to, shape, to == 0 ? "plain" : layout);
        test.convert(from, moved, 100);
        values.push_back(moved);
      } else {
        const BufferId first = test.buffer(space, shape, layout_of(from)),
                       second = test.buffer(space, shape, layout_of(from));
        const std::vector<OpCall> calls{op(choose.of(unary), {from}, {first}),
                                        op("Add", {first, constants[static_cast<size_t>(space)]}, {second})};
        if (space == 0) {
          test.host({calls[0], calls[1]});
        } else {
          test.device(space - 1, calls, 1000);
          if (choose.chance(30)) {  // in place: what it reads is gone when it is done
            test.plan.buffers[static_cast<size_t>(second)].offset =
                test.plan.buffers[static_cast<size_t>(first)].offset;
          }
        }
        values.push_back(second);
      }
    }
    for (size_t v = values.size() - std::min<size_t>(values.size(), 3); v < values.size(); ++v) {
      const BufferId back = test.buffer(0, shape);
      test.convert(values[v], back, 100);
      test.output(back);
    }
  }

  std::string layout_of(BufferId id) const { return test.plan.buffers[static_cast<size_t>(id)].tensor.form.layout; }

  const std::vector<std::string> layouts{"plain", "NHWC", "CWHN"}, unary{"Neg", "Relu", "Abs"};
  TestPlan test;
};

std::string random_spec(Chooser& choose) {
  const std::vector<std::string> devices{"npu[0]", "npu[1]", "npu[2]", "npu", "*"};
  std::string text = "seed " + std::to_string(choose.below(1000));
  for (int r = choose.below(4); r >= 0; --r) {
    const std::string when = choose.chance(50)   ? "at copy " + std::to_string(1 + choose.below(12))
                             : choose.chance(50) ? "0.05 of copies"
                                                 : "after " + std::to_string(choose.below(30)) + " copies";
    const std::string launches =
        choose.chance(50) ? "at launch " + std::to_string(1 + choose.below(12)) : "0.1 of launches";
    const std::vector<std::string> faults{"flip " + when,
                                          "fail " + when,
                                          "fail " + launches,
                                          "lose " + when,
                                          "lose " + launches,
                                          "lose at allocation " + std::to_string(1 + choose.below(3)),
                                          "timeout 10 us " + launches,
                                          "out-of-memory at allocation " + std::to_string(1 + choose.below(3)),
                                          "out-of-memory after " + std::to_string(choose.below(4)) + " allocations"};
    text += "; " + choose.of(devices) + ": " + choose.of(faults);
  }
  return text;
}

struct Tally {
  int right = 0, failed = 0, replaced = 0, retried = 0;
};

/// True if it ended as it may.
bool is_fine(const Result<std::vector<Tensor>>& got, const std::vector<Tensor>& expected, Tally* tally) {
  if (!got) {
    ++tally->failed;
    return got.message().find("npu[") != std::string::npos;
  }
  ++tally->right;
  bool is_equal = got->size() == expected.size();
  for (size_t i = 0; is_equal && i < expected.size(); ++i) is_equal = identical((*got)[i], expected[i]);
  return is_equal;
}

void expect_no_memory(FaultInjector& faults, const std::string& what) {
  for (const char* space : {"npu[0]", "npu[1]", "npu[2]", "npu[3]"}) EXPECT_EQ(faults.counts(space).used, 0u) << what;
}

TEST(RandomFaults, EachRequestEndsRightOrWithAClearError) {
  constexpr unsigned kPlans = 250;
  constexpr int kRuns = 4;
  Tally tally;
  const auto code = std::make_shared<TableCode>();
  for (unsigned seed = 0; seed < kPlans; ++seed) {
    Chooser choose(seed);
    const WanderingPlan plan(choose);
    const std::vector<Tensor> inputs{counting({2, 3, 2, 4}, static_cast<float>(choose.below(9))),
                                     counting({2, 3, 2, 4}, -30)};
    auto alone = Executor::load(plan.test.plan, *code, 1);
    ASSERT_TRUE(alone) << seed << ": " << alone.message();
    const auto expected = (*alone)->run(inputs);
    ASSERT_TRUE(expected) << seed << ": " << expected.message();
    const std::string spec = random_spec(choose);
    const std::string what = "seed " + std::to_string(seed) + ", " + spec;
    const LoadOptions options{faults_of(spec), choose.below(3)};
    std::shared_ptr<Replanner> mover;
    if (choose.chance(70)) mover = std::make_shared<PlanMover>(plan.test.plan, code, 1, options);
    {
      auto executor = Executor::load(plan.test.plan, *code, 1, options, mover);
      for (int run = 0; run < kRuns; ++run) {
        const Result<std::vector<Tensor>> got = executor ? (*executor)->run(inputs) : executor.status();
        EXPECT_TRUE(is_fine(got, *expected, &tally)) << what << (got ? "" : ": " + got.message());
      }
      if (executor) tally.replaced += (*executor)->losses().empty() ? 0 : 1;
      if (executor) tally.retried += (*executor)->retries() > 0 ? 1 : 0;
    }
    mover.reset();
    expect_no_memory(*options.faults, what);
  }
  EXPECT_EQ(tally.right + tally.failed, 1000);
  EXPECT_GT(tally.right, 500);
  EXPECT_GT(tally.failed, 20);
  EXPECT_GT(tally.replaced, 20);
  EXPECT_GT(tally.retried, 20);
}

TEST(RandomFaults, ManyRequestsAtOnceEndAsOneDoes) {
  const auto code = std::make_shared<TableCode>();
  Tally tally;
  for (unsigned seed = 1000; seed < 1040; ++seed) {
    Chooser choose(seed);
    const WanderingPlan plan(choose);
    const std::vector<Tensor> inputs{counting({2, 3, 2, 4}, 3), counting({2, 3, 2, 4}, -30)};
    auto alone = Executor::load(plan.test.plan, *code, 1);
    ASSERT_TRUE(alone) << seed << ": " << alone.message();
    const auto expected = (*alone)->run(inputs);
    ASSERT_TRUE(expected) << seed << ": " << expected.message();
    const std::string spec = random_spec(choose);
    const std::string what = "seed " + std::to_string(seed) + ", " + spec;
    const LoadOptions options{faults_of(spec), choose.below(3)};
    {
      const auto plans = plans_for_instances(plan.test.plan, {{"npu", 1 + choose.below(4)}});
      ASSERT_TRUE(plans) << plans.message();
      std::vector<std::shared_ptr<Recovery>> sets;
      Status status = Status::ok();
      for (const Plan& one : *plans) {
        auto set = Recovery::open(one, code, 1, options, std::make_shared<PlanMover>(one, code, 1, options));
        status = set.status();
        if (!status) break;
        sets.push_back(*set);
      }
      auto requests = status ? Requests::open(std::move(sets), {3, 8}) : Result<std::unique_ptr<Requests>>(status);
      if (!requests) {
        EXPECT_NE(requests.message().find("npu["), std::string::npos) << what << ": " << requests.message();
        continue;
      }
      std::vector<std::future<Requests::Answer>> answers;
      for (int r = 0; r < 10; ++r) answers.push_back((*requests)->submit(inputs));
      for (auto& answer : answers) {
        const Requests::Answer got = answer.get();
        EXPECT_TRUE(is_fine(got, *expected, &tally)) << what << (got ? "" : ": " + got.message());
      }
    }
    expect_no_memory(*options.faults, what);
  }
  EXPECT_GT(tally.right, 100);
}

}  // namespace
}  // namespace collage::runtime
