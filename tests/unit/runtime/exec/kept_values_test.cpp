// SPDX-License-Identifier: Apache-2.0
// What crosses the links of devices from run to run, counted at the devices.
#include "runtime/exec/kept_values.h"

#include <gtest/gtest.h>

#include "runtime/exec/recovery.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// `cache` + `x` on a device is the next cache; `y` is its negative.
struct CachePlan {
  explicit CachePlan(bool is_realtime = false, std::string cache_layout = "plain", std::string sum_layout = "plain")
      : test(1) {
    if (is_realtime) {
      test.plan.devices[0].attrs.set("realtime", int64_t{1});
      test.plan.devices[0].copy_queue = true;
      test.plan.is_concurrent = true;
    }
    const Shape shape{1, 4, 8, 2};
    const BufferId x = test.input(shape), cache = test.input(shape), weight = test.constant(1, counting({2}, 1));
    const BufferId x_in = test.buffer(1, shape), cache_in = test.buffer(1, shape, std::move(cache_layout));
    const BufferId scaled = test.buffer(1, shape), sum = test.buffer(1, shape, std::move(sum_layout));
    const BufferId out = test.buffer(1, shape), next = test.buffer(0, shape), y = test.buffer(0, shape);
    test.convert(x, x_in);
    test.convert(cache, cache_in);
    test.device(0, {op("Mul", {x_in, weight}, {scaled}), op("Add", {cache_in, scaled}, {sum}), op("Neg", {sum}, {out})},
                1000);
    test.convert(sum, next);
    test.convert(out, y);
    test.output(next);
    test.output(y);
    bytes = static_cast<size_t>(element_count(shape)) * 4;
  }

  TestPlan test;
  size_t bytes = 0;
};

struct CacheRunner {
  explicit CacheRunner(const Plan& plan, const std::string& spec = "") : faults(faults_of(spec)) {
    auto program = Program::load(plan, std::make_shared<TableCode>(), 1, {faults, 2});
    EXPECT_TRUE(program) << (program ? "" : program.message());
    auto made = Execution::create(*program);
    EXPECT_TRUE(made) << (made ? "" : made.message());
    execution = std::move(*made);
  }
  Status run(const Tensor& x, const Tensor* cache, const Tensor& y, const Tensor* next = nullptr) const {
    const std::vector<const std::byte*> from{x.data(), cache == nullptr ? nullptr : cache->data()};
    const std::vector<std::byte*> to{next == nullptr ? nullptr : next->data(), y.data()};
    return execution->run(from, to);
  }

  std::shared_ptr<FaultInjector> faults;
  std::unique_ptr<Execution> execution;
};

TEST(KeptValues, ACacheStaysOnItsDevice) {
  for (const auto& [is_realtime, in, out] : {std::tuple(false, "plain", "plain"),
                                             {false, "NHWC", "plain"},
                                             {false, "plain", "CWHN"},
                                             {true, "plain", "plain"},
                                             {true, "NHWC", "NHWC"}}) {
    const CachePlan plan(is_realtime, in, out);
    const CacheRunner runner(plan.test.plan);
    ASSERT_TRUE(runner.execution->keep(0, 1));
    ASSERT_NE(runner.execution->kept()[0]->device(), nullptr);
    const Shape shape{1, 4, 8, 2};
    const Tensor start = counting(shape, 100), y(DType::F32, shape), cache(DType::F32, shape);
    EXPECT_FALSE(runner.execution->read_kept(0, cache.data())) << "there is none yet";
    std::vector<float> expected = values(start);
    for (int run = 0; run < 5; ++run) {
      const Tensor x = counting(shape, static_cast<float>(run));
      const DeviceCounts before = runner.faults->counts("npu[0]");
      const Status status = runner.run(x, run == 0 ? &start : nullptr, y);
      ASSERT_TRUE(status) << status.message();
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] += (static_cast<float>(run) + static_cast<float>(i)) * static_cast<float>(1 + i % 2);
        ASSERT_EQ(values(y)[i], -expected[i]) << "run " << run;
      }
      const DeviceCounts after = runner.faults->counts("npu[0]");
      EXPECT_EQ(after.bytes_in - before.bytes_in, run == 0 ? 2 * plan.bytes : plan.bytes) << "x, and once the start";
      EXPECT_EQ(after.bytes_out - before.bytes_out, plan.bytes) << "y";
    }
    ASSERT_TRUE(runner.execution->read_kept(0, cache.data()));
    EXPECT_EQ(values(cache), expected);
    runner.execution->restart_kept();
    EXPECT_FALSE(runner.run(start, nullptr, y)) << "it needs its start again";
    ASSERT_TRUE(runner.run(start, &start, y));
    EXPECT_EQ(values(y)[0], -200);
  }
}

TEST(KeptValues, ReaderOnTheHostOrWriterOnTheHostKeepsItThere) {
  TestPlan plan(1);
  const BufferId x = plan.input({32}), cache = plan.input({32}), sum = plan.buffer(0, {32}), in = plan.buffer(1, {32});
  const BufferId out = plan.buffer(1, {32}), y = plan.buffer(0, {32});
  plan.host({op("Add", {x, cache}, {sum})});
  plan.convert(sum, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  plan.output(sum);
  for (bool is_apart : {false, true}) {
    for (auto* ports : {&plan.plan.inputs, &plan.plan.outputs}) {
      for (PlanPort& port : *ports) port.is_apart = is_apart;
    }
    const CacheRunner runner(plan.plan);
    ASSERT_TRUE(runner.execution->keep(0, 1));
    EXPECT_EQ(runner.execution->kept()[0]->device(), nullptr);
    float expected = 10;
    const Tensor start = counting({32}, 10), ones = f32({32}, std::vector<float>(32, 1)), total(DType::F32, {32});
    for (int run = 0; run < 4; ++run) {
      ASSERT_TRUE(runner.run(ones, run == 0 ? &start : nullptr, total));
      expected = -(expected + 1);
      EXPECT_EQ(values(total)[0], -expected);
    }
    const Tensor kept(DType::F32, {32});
    ASSERT_TRUE(runner.execution->read_kept(0, kept.data()));
    EXPECT_EQ(values(kept)[0], expected);
  }
}

TEST(KeptValues, AFailedRunLeavesTheValueOfTheRunBefore) {
  const CachePlan plan;
  // Runs take one launch and two moves each, counted together; the third run fails for good once.
  const CacheRunner runner(plan.test.plan, "npu[0]: fail at launch 7, fail at launch 8, fail at launch 9");
  ASSERT_TRUE(runner.execution->keep(0, 1));
  const Shape shape{1, 4, 8, 2};
  const Tensor start = counting(shape), x = f32(shape, std::vector<float>(64, 1)), y(DType::F32, shape);
  int failed = 0;
  for (int run = 0; run < 6; ++run) {
    if (runner.run(x, run == 0 ? &start : nullptr, y)) {
      EXPECT_EQ(values(y)[2], -(2 + run - failed + 1.0f));
    } else {
      ++failed;
    }
  }
  EXPECT_LE(failed, 1);
}

TEST(KeptValues, RefusesWhatCannotBeKept) {
  const CachePlan plan;
  const CacheRunner runner(plan.test.plan);
  EXPECT_FALSE(runner.execution->keep(2, 0));
  EXPECT_FALSE(runner.execution->keep(0, 2));
  ASSERT_TRUE(runner.execution->keep(0, 1));
  EXPECT_FALSE(runner.execution->keep(1, 1));
  EXPECT_FALSE(runner.execution->keep(0, 0));
  EXPECT_FALSE(runner.execution->read_kept(1, nullptr));
  TestPlan other;
  const BufferId a = other.input({2}), b = other.input({3}), c = other.buffer(0, {2});
  (void)b;
  other.host({op("Neg", {a}, {c})});
  other.output(c);
  const CacheRunner shapes(other.plan);
  const Status status = shapes.execution->keep(0, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.message(), "output `out` is f32[2], input `in1` is f32[3]");
}

TEST(KeptValues, MemoryOfTheDeviceIsGivenBack) {
  const CachePlan plan;
  CacheRunner runner(plan.test.plan);
  const size_t before = runner.faults->counts("npu[0]").used;
  ASSERT_TRUE(runner.execution->keep(0, 1));
  EXPECT_EQ(runner.faults->counts("npu[0]").used, before + 2 * plan.bytes);
  runner.execution.reset();
  EXPECT_EQ(runner.faults->counts("npu[0]").used, 0u);
}

TEST(KeptValues, WeightsCrossTheLinkOnce) {
  const CachePlan plan;
  const CacheRunner runner(plan.test.plan);
  EXPECT_EQ(runner.faults->counts("npu[0]").bytes_in, 8u) << "the weight, when it is loaded";
  const Shape shape{1, 4, 8, 2};
  const Tensor x = counting(shape), cache = counting(shape), y(DType::F32, shape), next(DType::F32, shape);
  for (size_t run = 1; run <= 3; ++run) {
    ASSERT_TRUE(runner.run(x, &cache, y, &next));
    EXPECT_EQ(runner.faults->counts("npu[0]").bytes_in, 8 + run * 2 * plan.bytes);
    EXPECT_EQ(runner.execution->runner().link_bytes().all(), run * 4 * plan.bytes);
  }
}

}  // namespace
}  // namespace collage::runtime
