// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/executor.h"

#include <gtest/gtest.h>

#include "runtime/core/external_functions.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

std::unique_ptr<Executor> load(const TestPlan& plan, const Code& code = TableCode(), int threads = 2,
                               LoadOptions options = {}) {
  Result<std::unique_ptr<Executor>> executor = Executor::load(plan.plan, code, threads, std::move(options));
  EXPECT_TRUE(executor) << (executor ? "" : executor.message());
  return executor ? std::move(*executor) : nullptr;
}

std::vector<float> run_one(Executor& executor, const std::vector<Tensor>& inputs) {
  Result<std::vector<Tensor>> outputs = executor.run(inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.message());
  return outputs ? values(outputs->at(0)) : std::vector<float>();
}

TEST(Executor, RunsOperatorsOnTheHost) {
  TestPlan plan;
  BufferId x = plan.input({2, 2});
  BufferId bias = plan.constant(0, f32({2}, {10, -10}));
  BufferId sum = plan.buffer(0, {2, 2});
  BufferId y = plan.buffer(0, {2, 2});
  plan.host({op("Add", {x, bias}, {sum}), op("Relu", {sum}, {y})});
  plan.output(y);
  auto executor = load(plan);
  EXPECT_EQ(run_one(*executor, {f32({2, 2}, {1, 2, 3, 40})}), (std::vector<float>{11, 0, 13, 30}));
  EXPECT_EQ(run_one(*executor, {f32({2, 2}, {0, 0, 0, 0})}), (std::vector<float>{10, 0, 10, 0}));
}

/// out[i] = 2 * in[i]; the last buffer is scratch of one float, private to the part.
void twice_through_scratch(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  const auto* in = static_cast<const float*>(buffers[0]);
  auto* out = static_cast<float*>(buffers[1]);
  auto* scratch = static_cast<volatile float*>(buffers[2]);
  for (int64_t i = begin; i < end; ++i) {
    *scratch = 2 * in[i];
    out[i] = *scratch;
  }
}

TEST(Executor, RunsKernelsInPartsWithTheirOwnScratch) {
  TestPlan plan;
  BufferId x = plan.input({5000});
  BufferId y = plan.buffer(0, {5000});
  plan.host({KernelCall{"twice", {x, y}, 5000, 1, 4}});
  plan.output(y);
  TableCode code;
  code.kernels["twice"] = &twice_through_scratch;
  for (int threads : {1, 4}) {
    auto executor = load(plan, code, threads);
    std::vector<float> got = run_one(*executor, {counting({5000})});
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<float>(2 * i));
  }
}

void expf_outside(void* const* buffers, const void* const* outside, int64_t, int64_t) {
  auto function =
      reinterpret_cast<float (*)(float)>(const_cast<void*>(outside[static_cast<int>(ExternalFunction::Expf)]));
  *static_cast<float*>(buffers[1]) = function(*static_cast<const float*>(buffers[0]));
}

TEST(Executor, HandsTheTableOfExternalFunctionsToKernels) {
  TestPlan plan;
  BufferId x = plan.input({});
  BufferId y = plan.buffer(0, {});
  plan.host({KernelCall{"exp", {x, y}, 1, 1, 0}});
  plan.output(y);
  TableCode code;
  code.kernels["exp"] = &expf_outside;
  EXPECT_FLOAT_EQ(run_one(*load(plan, code), {f32({}, {1})})[0], 2.7182817f);
}

TEST(Executor, RefusesAPlanWithoutItsCode) {
  TestPlan plan;
  BufferId x = plan.input({4});
  plan.host({KernelCall{"missing", {x}, 4, 1, 0}});
  plan.output(x);
  Result<std::unique_ptr<Executor>> executor = Executor::load(plan.plan, TableCode(), 1);
  ASSERT_FALSE(executor);
  EXPECT_NE(executor.message().find("`missing`"), std::string::npos);
}

TEST(Executor, RunsAPartitionOnADevice) {
  TestPlan plan(1);
  BufferId x = plan.input({1, 3, 2, 2});
  BufferId on_device = plan.buffer(1, {1, 3, 2, 2}, "NHWC");
  BufferId scale = plan.constant(1, f32({3, 1, 1}, {1, 10, 100}));
  BufferId scaled = plan.buffer(1, {1, 3, 2, 2}, "NHWC");
  BufferId y = plan.buffer(0, {1, 3, 2, 2});
  plan.convert(x, on_device);
  plan.device(0, {op("Mul", {on_device, scale}, {scaled})}, 5'000'000);
  plan.convert(scaled, y);
  plan.output(y);
  auto executor = load(plan);
  EXPECT_EQ(executor->device_time(), Duration());  // loading constants is no run time
  std::vector<float> got = run_one(*executor, {counting({1, 3, 2, 2})});
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(got[i], static_cast<float>(i) * (i < 4 ? 1 : i < 8 ? 10 : 100));
  // Two copies of 48 bytes at 1 GB/s + 1 us, and the launch.
  EXPECT_EQ(executor->device_time().ps(), 2 * (1'000'000 + 48'000) + 5'000'000);
}

TEST(Executor, ConstantsAreLoadedInTheLayoutOfTheirBuffer) {
  for (int space : {0, 1}) {
    TestPlan plan(1);
    plan.input({1});
    BufferId nhwc = plan.constant(space, counting({1, 2, 1, 3}), "NHWC");
    BufferId y = plan.buffer(0, {1, 2, 1, 3});
    plan.convert(nhwc, y);
    plan.output(y);
    EXPECT_EQ(run_one(*load(plan), {f32({1}, {0})}), values(counting({1, 2, 1, 3})));
  }
}

TEST(Executor, ConvertsAlongEveryKindOfRoute) {
  TestPlan plan(2);
  Shape shape{2, 3, 4, 5};
  BufferId x = plan.input(shape);
  BufferId host_nhwc = plan.buffer(0, shape, "NHWC");
  BufferId a_nhwc = plan.buffer(1, shape, "NHWC");
  BufferId a_plain = plan.buffer(1, shape);
  BufferId b_plain = plan.buffer(2, shape);
  BufferId b_cwhn = plan.buffer(2, shape, "CWHN");
  BufferId host_cwhn = plan.buffer(0, shape, "CWHN");
  BufferId y = plan.buffer(0, shape);
  plan.convert(x, host_nhwc);
  plan.convert(host_nhwc, a_nhwc);
  plan.convert(a_nhwc, a_plain, 7000);
  plan.convert(a_plain, b_plain);
  plan.convert(b_plain, b_cwhn, 9000);
  plan.convert(b_cwhn, host_cwhn);
  plan.convert(host_cwhn, y);
  plan.output(y);
  auto executor = load(plan);
  EXPECT_EQ(run_one(*executor, {counting(shape)}), values(counting(shape)));
  EXPECT_EQ(executor->device_time().ps(), 3 * (1'000'000 + 480'000) + 7000 + 9000);
  // `read` shows each of them logically, and takes no simulated time.
  Duration before = executor->device_time();
  for (BufferId id : {host_nhwc, a_nhwc, a_plain, b_plain, b_cwhn, host_cwhn}) {
    Result<Tensor> tensor = executor->read(id);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(values(*tensor), values(counting(shape))) << "buffer " << id;
  }
  EXPECT_EQ(executor->device_time(), before);
  EXPECT_FALSE(executor->read(-1));
  EXPECT_FALSE(executor->read(1000));
}

TEST(Executor, RefusesInputsThatDoNotFit) {
  TestPlan plan;
  BufferId x = plan.input({2, 2});
  plan.output(x);
  auto executor = load(plan);
  EXPECT_FALSE(executor->run({}));
  EXPECT_FALSE(executor->run({Tensor()}));
  EXPECT_FALSE(executor->run({Tensor(DType::I32, {2, 2})}));
  Result<std::vector<Tensor>> outputs = executor->run({Tensor(DType::F32, {4})});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.message(), "input `in0` is f32[4], the model wants f32[2, 2]");
  EXPECT_EQ(run_one(*executor, {counting({2, 2})}), (std::vector<float>{0, 1, 2, 3}));
}

TEST(Executor, ObserversSeeEveryStepWithItsResults) {
  TestPlan plan;
  BufferId x = plan.input({1});
  BufferId y = plan.buffer(0, {1});
  BufferId z = plan.buffer(0, {1});
  plan.host({op("Neg", {x}, {y})});
  plan.host({op("Neg", {y}, {z})});
  plan.output(z);
  auto executor = load(plan);
  std::vector<size_t> steps;
  executor->observe([&](const StepReport& report) {
    steps.push_back(report.step);
    EXPECT_GE(report.host_seconds, 0.0);
    if (report.step == 0) {
      EXPECT_EQ(values(*executor->read(y)), std::vector<float>{-3});
    }
  });
  run_one(*executor, {f32({1}, {3})});
  EXPECT_EQ(steps, (std::vector<size_t>{0, 1}));
  executor->observe({});
  run_one(*executor, {f32({1}, {3})});
  EXPECT_EQ(steps.size(), 2u);
}

TEST(Executor, OnlyHostStepsReportTimesOfCalls) {
  TestPlan plan(1);
  BufferId x = plan.input({2});
  BufferId h = plan.buffer(0, {2});
  BufferId in = plan.buffer(1, {2});
  BufferId out = plan.buffer(1, {2});
  BufferId y = plan.buffer(0, {2});
  plan.host({op("Neg", {x}, {h})});
  plan.convert(h, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1'000'000);
  plan.convert(out, y);
  plan.output(y);
  auto executor = load(plan);
  std::vector<size_t> calls;
  executor->observe([&](const StepReport& report) { calls.push_back(report.call_seconds.size()); });
  run_one(*executor, {f32({2}, {3, 4})});
  EXPECT_EQ(calls, (std::vector<size_t>{1, 0, 0, 0}));
}

TEST(Executor, AFaultNamesThePartitionAndTheNextRunWorks) {
  TestPlan plan(1);
  plan.plan.devices[0].attrs.set("fail_launch_at", int64_t{2});
  BufferId x = plan.input({2});
  BufferId in = plan.buffer(1, {2});
  BufferId out = plan.buffer(1, {2});
  BufferId y = plan.buffer(0, {2});
  plan.convert(x, in);
  plan.device(0, {op("Relu", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  auto executor = load(plan, TableCode(), 2, {nullptr, 0});
  EXPECT_EQ(run_one(*executor, {f32({2}, {-1, 1})}), (std::vector<float>{0, 1}));
  Result<std::vector<Tensor>> failed = executor->run({f32({2}, {-1, 1})});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.message(), "partition `p0` on npu[0]: injected fault: fail_launch_at = 2");
  EXPECT_EQ(run_one(*executor, {f32({2}, {-1, 1})}), (std::vector<float>{0, 1}));
}

TEST(Executor, AFailedCopyNamesTheValueAndTheSpaces) {
  TestPlan plan(1);
  plan.plan.devices[0].attrs.set("fail_copy_at", int64_t{1});
  BufferId x = plan.input({2});
  BufferId in = plan.buffer(1, {2});
  plan.convert(x, in);
  plan.output(x);
  auto executor = load(plan, TableCode(), 2, {nullptr, 0});
  Result<std::vector<Tensor>> failed = executor->run({f32({2}, {-1, 1})});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.message(), "conversion of `v0` from host to npu[0]: injected fault: fail_copy_at = 1");
}

TEST(Executor, EmptyTensorsAreNoAbsentOperands) {
  TestPlan plan(1);
  BufferId x = plan.input({0, 4});
  BufferId in = plan.buffer(1, {0, 4});
  BufferId out = plan.buffer(1, {0, 4});
  BufferId y = plan.buffer(0, {0, 4});
  plan.convert(x, in);
  plan.device(0, {op("Relu", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  EXPECT_TRUE(run_one(*load(plan), {Tensor(DType::F32, {0, 4})}).empty());
}

}  // namespace
}  // namespace collage::runtime
