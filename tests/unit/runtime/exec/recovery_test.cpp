// SPDX-License-Identifier: Apache-2.0
// Commands that fail are given again, lost devices are replaced, requests end with the right result.
#include "runtime/exec/recovery.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/exec/executor.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// y = -(-x + c) over two devices, with a copy between them.
TestPlan two_steps(bool is_concurrent, bool is_realtime) {
  TestPlan plan(2);
  plan.plan.is_concurrent = is_concurrent;
  for (DeviceSpec& device : plan.plan.devices) {
    device.copy_queue = is_concurrent;
    if (is_realtime) device.attrs.set("realtime", int64_t{1});
  }
  const BufferId x = plan.input({16}), c = plan.constant(1, counting({16}, 2));
  const BufferId a_in = plan.buffer(1, {16}), a_mid = plan.buffer(1, {16}), a_out = plan.buffer(1, {16});
  const BufferId b_in = plan.buffer(2, {16}), b_out = plan.buffer(2, {16}), y = plan.buffer(0, {16});
  plan.convert(x, a_in);
  plan.device(0, {op("Neg", {a_in}, {a_mid}), op("Add", {a_mid, c}, {a_out})}, 1000);
  plan.convert(a_out, b_in);
  plan.device(1, {op("Neg", {b_in}, {b_out})}, 1000);
  plan.convert(b_out, y);
  plan.output(y);
  return plan;
}

std::unique_ptr<Executor> load_with(const TestPlan& plan, std::shared_ptr<FaultInjector> faults, bool moves) {
  static const TableCode kNoCode;
  const LoadOptions options{std::move(faults), 2};
  std::shared_ptr<Replanner> mover;
  if (moves) {
    mover = std::make_shared<PlanMover>(plan.plan, std::shared_ptr<const Code>(std::shared_ptr<void>(), &kNoCode), 1,
                                        options);
  }
  auto executor = Executor::load(plan.plan, kNoCode, 1, options, std::move(mover));
  EXPECT_TRUE(executor) << (executor ? "" : executor.message());
  return executor ? std::move(*executor) : nullptr;
}

float last_of(const Result<std::vector<Tensor>>& outputs) {
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.message());
  return outputs ? values((*outputs)[0])[15] : 0;
}

TEST(Recovery, ACommandThatFailsIsGivenAgain) {
  for (const auto& [is_concurrent, is_realtime] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    // Copy 1 brings the constant.
    const auto faults = faults_of(
        "npu[0]: flip at copy 1, fail at copy 3, flip at copy 6, timeout 1 ms at launch 2;"
        "npu[1]: fail at launch 1, flip at copy 1, flip at copy 2");
    auto executor = load_with(two_steps(is_concurrent, is_realtime), faults, false);
    for (float from : {0.0f, 5.0f}) EXPECT_EQ(last_of(executor->run({counting({16}, from)})), from + 15 - 17);
    EXPECT_EQ(executor->retries(), 6u);
    EXPECT_NE(executor->last_retried().find("injected fault"), std::string::npos);
    EXPECT_TRUE(executor->losses().empty());
  }
}

TEST(Recovery, ACommandThatAlwaysFailsIsAnErrorWithItsStep) {
  auto executor = load_with(two_steps(false, false), faults_of("npu[1]: fail after 0 launches"), true);
  const auto outputs = executor->run({counting({16})});
  ASSERT_FALSE(outputs);
  EXPECT_TRUE(outputs.message().starts_with("partition `p1` on npu[1]: launch ")) << outputs.message();
  EXPECT_NE(outputs.message().find(" of npu[1] failed: injected fault `npu[1]: fail after 0 launches`"),
            std::string::npos);
  EXPECT_EQ(executor->retries(), 2u);
}

TEST(Recovery, WhatOverwritesItsOperandsStartsAgainFromTheInputs) {
  TestPlan plan(1);
  const BufferId x = plan.input({16}), in = plan.buffer(1, {16}), out = plan.buffer(1, {16}), y = plan.buffer(0, {16});
  plan.plan.buffers[static_cast<size_t>(out)].offset = plan.plan.buffers[static_cast<size_t>(in)].offset;
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  const auto faults = faults_of("npu[0]: fail at launch 1");
  auto executor = load_with(plan, faults, false);
  EXPECT_EQ(last_of(executor->run({counting({16})})), -15);
  EXPECT_EQ(executor->retries(), 1u);
  EXPECT_EQ(faults->counts("npu[0]").bytes_in, 2 * 64u) << "the input was copied twice";
}

TEST(Recovery, ALostDeviceIsReplacedAndTheRequestFinished) {
  for (const auto& [is_concurrent, is_realtime] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    const auto faults = faults_of("npu[0]: lose after 1 launch");
    auto executor = load_with(two_steps(is_concurrent, is_realtime), faults, true);
    for (float from : {0.0f, 5.0f, 7.0f}) EXPECT_EQ(last_of(executor->run({counting({16}, from)})), from + 15 - 17);
    ASSERT_EQ(executor->losses().size(), 1u);
    EXPECT_EQ(executor->losses()[0].text(), "device npu[0] was lost in step 1: 1 partition runs on npu[1] from now on");
    EXPECT_EQ(faults->counts("npu[0]").used, 0u);
    EXPECT_GT(faults->counts("npu[1]").used, 0u);
    executor.reset();
    EXPECT_EQ(faults->counts("npu[1]").used, 0u);
  }
}

TEST(Recovery, AllDevicesMayBeLostAtAnyTime) {
  for (const char* text : {"*: lose after 0 allocations", "*: lose after 0 copies",
                           "npu[0]: lose after 3 copies; npu[1]: lose after 1 launch",
                           "npu[1]: lose at allocation 2; npu[0]: lose at copy 4", "*: lose after 0 launches"}) {
    const auto faults = faults_of(text);
    auto executor = load_with(two_steps(false, false), faults, true);
    ASSERT_NE(executor, nullptr) << text;
    for (float from : {0.0f, 5.0f}) EXPECT_EQ(last_of(executor->run({counting({16}, from)})), from + 15 - 17) << text;
    EXPECT_EQ(executor->losses().size(), 2u) << text;
    EXPECT_TRUE(executor->losses().back().text().ends_with("on host from now on")) << executor->losses().back().text();
    for (const char* space : {"npu[0]", "npu[1]"}) EXPECT_EQ(faults->counts(space).used, 0u) << text;
  }
}

TEST(Recovery, WithoutAReplannerALossIsAnError) {
  auto executor = load_with(two_steps(false, false), faults_of("npu[0]: lose at launch 1"), false);
  for (int run = 0; run < 2; ++run) {
    const auto outputs = executor->run({counting({16})});
    ASSERT_FALSE(outputs);
    EXPECT_NE(outputs.message().find("npu[0] is lost"), std::string::npos) << outputs.message();
    EXPECT_NE(outputs.message().find("nothing can take over from npu[0]"), std::string::npos) << outputs.message();
  }
}

TEST(Recovery, KeptValuesThatAreLostAreAnErrorOnce) {
  TestPlan plan(1);
  const BufferId x = plan.input({16}), in = plan.buffer(1, {16}), out = plan.buffer(1, {16}), y = plan.buffer(0, {16});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  // A run has a launch, a move in and a move out: the second run loses the device.
  const LoadOptions options{faults_of("npu[0]: lose after 3 launches"), 2};
  const auto code = std::make_shared<TableCode>();
  auto recovery = Recovery::open(plan.plan, code, 1, options, std::make_shared<PlanMover>(plan.plan, code, 1, options));
  ASSERT_TRUE(recovery) << recovery.message();
  auto execution = RecoveringExecution::create(*recovery);
  ASSERT_TRUE(execution) << execution.message();
  ASSERT_TRUE((*execution)->keep(0, 0));
  const Tensor start = counting({16}), kept(DType::F32, {16});
  const std::vector<const std::byte*> from{start.data()};
  const std::vector<std::byte*> none{nullptr};
  ASSERT_TRUE((*execution)->run(from, none));
  const Status lost = (*execution)->run(from, none);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.message().find("values that were kept from run to run are lost with it"), std::string::npos)
      << lost.message();
  for (float expected : {-15.0f, 15.0f, -15.0f}) {
    ASSERT_TRUE((*execution)->run(from, none));
    ASSERT_TRUE((*execution)->current().read_kept(0, kept.data()));
    EXPECT_EQ(values(kept)[15], expected) << "it starts again from the input";
  }
}

TEST(Recovery, AnAttributeAsksForChecksums) {
  TestPlan plan = two_steps(false, false);
  for (DeviceSpec& device : plan.plan.devices) device.attrs.set("checksum", int64_t{1});
  auto executor = load_with(plan, nullptr, false);
  EXPECT_EQ(last_of(executor->run({counting({16})})), 15 - 17);
}

}  // namespace
}  // namespace collage::runtime
