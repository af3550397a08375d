// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/relocate.h"

#include <gtest/gtest.h>

#include "runtime/encodings/encodings.h"
#include "runtime/exec/executor.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

std::vector<Tensor> results_of(const Plan& plan, const std::vector<Tensor>& inputs) {
  auto executor = Executor::load(plan, TableCode(), 1);
  EXPECT_TRUE(executor) << (executor ? "" : executor.message());
  if (!executor) return {};
  auto outputs = (*executor)->run(inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.message());
  return outputs ? *outputs : std::vector<Tensor>();
}

/// Two devices with layouts, constants on all three memories, and a copy between the devices.
TestPlan two_devices(bool is_concurrent) {
  TestPlan plan(2);
  plan.plan.is_concurrent = is_concurrent;
  const Shape shape{2, 3, 4, 5};
  const BufferId x = plan.input(shape), bias = plan.constant(0, counting({5}, 1));
  const BufferId scale = plan.constant(1, counting({3, 1, 1}, 1));
  const BufferId offset = plan.constant(2, counting(shape, -7), "NHWC");
  const BufferId a_in = plan.buffer(1, shape, "NHWC"), a_out = plan.buffer(1, shape, "NHWC");
  const BufferId a_plain = plan.buffer(1, shape), b_in = plan.buffer(2, shape), b_out = plan.buffer(2, shape);
  const BufferId from_a = plan.buffer(0, shape), from_b = plan.buffer(0, shape, "NHWC");
  const BufferId back = plan.buffer(0, shape), y = plan.buffer(0, shape), z = plan.buffer(0, shape);
  plan.convert(x, a_in);
  plan.device(0, {op("Mul", {a_in, scale}, {a_out})}, 3'000'000);
  plan.convert(a_out, a_plain, 1'000'000);
  plan.convert(a_plain, b_in);
  plan.convert(a_out, from_a);
  plan.device(1, {op("Sub", {b_in, offset}, {b_out})}, 2'000'000);
  plan.convert(b_out, from_b);
  plan.convert(from_b, back);
  plan.host({op("Add", {from_a, bias}, {y})});
  plan.host({op("Mul", {y, back}, {z})});
  plan.output(y);
  plan.output(z);
  return plan;
}

TEST(Relocate, WhatRanOnADeviceRunsElsewhereWithTheSameBits) {
  for (bool is_concurrent : {false, true}) {
    const TestPlan plan = two_devices(is_concurrent);
    const std::vector<Tensor> inputs{counting({2, 3, 4, 5}, -20)};
    const std::vector<Tensor> expected = results_of(plan.plan, inputs);
    ASSERT_EQ(expected.size(), 2u);
    const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> cases{
        {{}, {"npu[0]", "npu[1]"}},
        {{"npu[0]"}, {"npu[1]", "npu[1]"}},
        {{"npu[1]"}, {"npu[0]", "npu[0]"}},
        {{"npu[0]", "npu[1]"}, {"host", "host"}},
        {{"npu[7]"}, {"npu[0]", "npu[1]"}}};
    for (const auto& [lost, where] : cases) {
      const auto moved = without_devices(plan.plan, lost);
      ASSERT_TRUE(moved) << moved.message();
      for (size_t p = 0; p < 2; ++p) EXPECT_EQ((*moved).partitions[p].instance, where[p]);
      EXPECT_EQ((*moved).steps.size(), plan.plan.steps.size());
      const std::vector<Tensor> got = results_of(*moved, inputs);
      ASSERT_EQ(got.size(), 2u);
      EXPECT_TRUE(identical(got[0], expected[0]));
      EXPECT_TRUE(identical(got[1], expected[1]));
    }
  }
}

TEST(Relocate, ADeviceWithoutRoomOrOfAnotherKindIsNoPlaceToGo) {
  for (bool is_full : {true, false}) {
    TestPlan plan = two_devices(false);
    MemorySpace& other = plan.plan.spaces[2];
    if (is_full) {
      other.capacity = other.arena_bytes + other.constant_bytes + 64;
    } else {
      plan.plan.devices[1].attrs.set("lanes", int64_t{4});
    }
    const auto moved = without_devices(plan.plan, {"npu[0]"});
    ASSERT_TRUE(moved) << moved.message();
    EXPECT_EQ((*moved).partitions[0].instance, "host");
    EXPECT_EQ((*moved).partitions[1].instance, "npu[1]");
    const std::vector<Tensor> inputs{counting({2, 3, 4, 5}, 3)};
    EXPECT_TRUE(identical(results_of(*moved, inputs)[1], results_of(plan.plan, inputs)[1]));
  }
}

TEST(Relocate, SmallStoragesAndEncodedConstantsBecomeThoseOfTheModel) {
  TestPlan plan(1);
  const Shape shape{4, 8};
  const BufferId x = plan.input(shape);
  const Tensor weight = counting({8}, -3);
  const BufferId w = plan.constant(1, weight);
  const auto encoded = encode_constant(weight, "rle");
  ASSERT_TRUE(encoded) << encoded.message();
  Tensor bytes(DType::U8, {static_cast<int64_t>(encoded->size())});
  std::copy(encoded->begin(), encoded->end(), bytes.data());
  plan.plan.constants[0].data = bytes;
  Buffer& held = plan.plan.buffers[static_cast<size_t>(w)];
  held.tensor.encoding = "rle";
  held.tensor.encoded_bytes = bytes.bytes();
  plan.plan.spaces[1].constant_bytes = 4096;
  const BufferId in = plan.buffer(1, shape), out = plan.buffer(1, shape), y = plan.buffer(0, shape);
  for (BufferId id : {in, out})
    plan.plan.buffers[static_cast<size_t>(id)].tensor.form.storage = Storage{StorageType::F16};
  // Close together, as halves need it.
  plan.plan.buffers[static_cast<size_t>(out)].offset = 64;
  plan.convert(x, in);
  plan.device(0, {op("Mul", {in, w}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  const auto moved = without_devices(plan.plan, {"npu[0]"});
  ASSERT_TRUE(moved) << moved.message();
  const std::vector<Tensor> inputs{counting(shape, 1)};  // f16 has all of these numbers
  const std::vector<Tensor> expected = results_of(plan.plan, inputs), got = results_of(*moved, inputs);
  EXPECT_TRUE(identical(got[0], expected[0]));
  EXPECT_EQ(values(got[0])[1], -4);
}

TEST(Relocate, ConstantsThatLieReadyAreJoined) {
  TestPlan plan = two_devices(false);
  const std::vector<Tensor> inputs{counting({2, 3, 4, 5}, 3)};
  const std::vector<Tensor> expected = results_of(plan.plan, inputs);
  const auto region =
      std::make_shared<Tensor>(DType::U8, Shape{static_cast<int64_t>(plan.plan.spaces[0].constant_bytes)});
  std::erase_if(plan.plan.constants, [&](const ConstantInit& init) {
    const Buffer& buffer = plan.plan.buffers[static_cast<size_t>(init.buffer)];
    if (buffer.space != 0) return false;
    std::copy_n(init.data.data(), init.data.bytes(), region->data() + buffer.offset);
    return true;
  });
  plan.plan.host_constants = {std::shared_ptr<const std::byte>(region, region->data()), region->bytes()};
  const auto moved = without_devices(plan.plan, {"npu[0]", "npu[1]"});
  ASSERT_TRUE(moved) << moved.message();
  EXPECT_TRUE(identical(results_of(*moved, inputs)[1], expected[1]));
}

TEST(Relocate, APlanRunsOnAsManyInstancesAsThereAre) {
  TestPlan plan(3);
  const BufferId x = plan.input({6}), in = plan.buffer(1, {6}), out = plan.buffer(1, {6}), y = plan.buffer(0, {6});
  plan.convert(x, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1);
  plan.convert(out, y);
  plan.output(y);
  plan.plan.spaces.resize(2);
  plan.plan.devices.resize(1);
  for (const auto& [count, sets] : {std::pair(0, 1), {1, 1}, {2, 2}, {3, 3}}) {
    const auto plans = plans_for_instances(plan.plan, {{"npu", count}});
    ASSERT_TRUE(plans) << plans.message();
    ASSERT_EQ(plans->size(), static_cast<size_t>(sets));
    for (size_t set = 0; set < plans->size(); ++set) {
      const std::string instance = count == 0 ? "host" : "npu[" + std::to_string(set) + "]";
      EXPECT_EQ((*plans)[set].partitions[0].instance, instance);
      EXPECT_EQ(values(results_of((*plans)[set], {counting({6}, 1)})[0])[5], -6);
    }
  }
  const auto pairs = plans_for_instances(two_devices(false).plan, {{"npu", 5}});
  ASSERT_TRUE(pairs) << pairs.message();
  ASSERT_EQ(pairs->size(), 2u) << "one is left over";
  EXPECT_EQ((*pairs)[1].devices[0].space, "npu[2]");
  EXPECT_EQ((*pairs)[1].devices[1].space, "npu[3]");
  const auto single = plans_for_instances(two_devices(false).plan, {{"npu", 1}});
  ASSERT_TRUE(single) << single.message();
  ASSERT_EQ((*single)[0].devices.size(), 1u);
  const std::vector<Tensor> inputs{counting({2, 3, 4, 5}, 3)};
  const std::vector<Tensor> expected = results_of(two_devices(false).plan, inputs);
  EXPECT_TRUE(identical(results_of((*single)[0], inputs)[1], expected[1]));
  EXPECT_TRUE(identical(results_of((*pairs)[1], inputs)[1], expected[1]));
}

}  // namespace
}  // namespace collage::runtime
