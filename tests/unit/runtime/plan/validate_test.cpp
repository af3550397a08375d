// SPDX-License-Identifier: Apache-2.0
// A good plan, damaged in every way that a bad package could be: each is refused, none crashes.
#include "runtime/plan/validate.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

enum : BufferId { kInput, kConstant, kHostOut, kDeviceIn, kDeviceOut, kPeer };

TestPlan good_plan() {
  TestPlan plan(2);
  Shape shape{1, 2, 3, 4};
  BufferId x = plan.input(shape);
  BufferId c = plan.constant(0, counting(shape));
  BufferId y = plan.buffer(0, shape);
  BufferId device_in = plan.buffer(1, shape, "NHWC");
  BufferId device_out = plan.buffer(1, shape);
  BufferId peer = plan.buffer(2, shape);
  plan.host({op("Add", {x, c}, {y}), KernelCall{"k", {x, -1, y}, 24, 1, 0}});
  plan.convert(y, device_in);
  plan.device(0, {op("Relu", {device_in}, {device_out})}, 1);
  plan.convert(device_out, peer);
  plan.output(y);
  return plan;
}

template <typename T>
T& step(Plan& plan, size_t i) {
  return std::get<T>(plan.steps[i]);
}

OpCall& host_op(Plan& plan) {
  return std::get<OpCall>(step<HostStep>(plan, 0).calls[0]);
}
KernelCall& kernel(Plan& plan) {
  return std::get<KernelCall>(step<HostStep>(plan, 0).calls[1]);
}

TEST(Validate, AcceptsAGoodPlan) {
  Status status = validate(good_plan().plan);
  EXPECT_TRUE(status) << status.message();
}

TEST(Validate, RefusesEveryDamage) {
  const std::pair<const char*, std::function<void(Plan&)>> damages[] = {
      {"no space", [](Plan& p) { p.spaces.clear(); }},
      {"no host", [](Plan& p) { p.spaces[0].name = "npu"; }},
      {"space twice", [](Plan& p) { p.spaces[2].name = "npu[0]"; }},
      {"space without device",
       [](Plan& p) {
         p.spaces.push_back({"x[0]", 0, 0, 0});
       }},
      {"device without space", [](Plan& p) { p.devices[0].space = "x[0]"; }},
      {"device twice", [](Plan& p) { p.devices.push_back(p.devices[0]); }},
      {"over capacity", [](Plan& p) { p.spaces[1].capacity = 64; }},
      {"huge arena", [](Plan& p) { p.spaces[1].arena_bytes = SIZE_MAX - 1; }},
      {"buffer space", [](Plan& p) { p.buffers[kInput].space = 9; }},
      {"negative buffer space", [](Plan& p) { p.buffers[kInput].space = -1; }},
      {"dtype", [](Plan& p) { p.buffers[kInput].tensor.dtype = static_cast<DType>(77); }},
      {"negative dimension", [](Plan& p) { p.buffers[kHostOut].tensor.shape[0] = -1; }},
      {"overflowing shape",
       [](Plan& p) {
         p.buffers[kHostOut].tensor.shape = {INT64_MAX, 8, 1, 1};
       }},
      {"layout", [](Plan& p) { p.buffers[kDeviceIn].tensor.form.layout = "NHW"; }},
      {"alignment", [](Plan& p) { p.buffers[kHostOut].offset += 4; }},
      {"outside the arena", [](Plan& p) { p.buffers[kHostOut].offset += 1 << 20; }},
      {"offset overflow", [](Plan& p) { p.buffers[kHostOut].offset = SIZE_MAX - 63; }},
      {"constant buffer index", [](Plan& p) { p.constants[0].buffer = 99; }},
      {"constant not resident", [](Plan& p) { p.constants[0].buffer = kHostOut; }},
      {"constant shape", [](Plan& p) { p.constants[0].data = counting({3}); }},
      {"constant without data", [](Plan& p) { p.constants[0].data = Tensor(); }},
      {"constant twice", [](Plan& p) { p.constants.push_back(p.constants[0]); }},
      {"constant missing", [](Plan& p) { p.constants.clear(); }},
      {"host partition", [](Plan& p) { step<HostStep>(p, 0).partition = 5; }},
      {"operator", [](Plan& p) { host_op(p).op = "Nope"; }},
      {"operand", [](Plan& p) { host_op(p).inputs[0] = 99; }},
      {"negative operand", [](Plan& p) { host_op(p).inputs[0] = -2; }},
      {"operand elsewhere", [](Plan& p) { host_op(p).inputs[0] = kDeviceIn; }},
      {"operand not plain", [](Plan& p) { p.buffers[kHostOut].tensor.form.layout = "NHWC"; }},
      {"missing operand", [](Plan& p) { host_op(p).inputs.pop_back(); }},
      {"absent operand", [](Plan& p) { host_op(p).inputs[1] = -1; }},
      {"result of another shape",
       [](Plan& p) {
         p.buffers[kHostOut].tensor.shape = {1, 2, 3, 5};
       }},
      {"overwritten constant", [](Plan& p) { host_op(p).outputs[0] = kConstant; }},
      {"kernel operand", [](Plan& p) { kernel(p).buffers[0] = 99; }},
      {"kernel operand elsewhere", [](Plan& p) { kernel(p).buffers[0] = kPeer; }},
      {"kernel extent", [](Plan& p) { kernel(p).extent = -1; }},
      {"kernel grain", [](Plan& p) { kernel(p).grain = 0; }},
      {"kernel scratch", [](Plan& p) { kernel(p).scratch_bytes = SIZE_MAX; }},
      {"convert operand", [](Plan& p) { step<ConvertStep>(p, 1).from = -1; }},
      {"convert shapes",
       [](Plan& p) {
         p.buffers[kPeer].tensor.shape = {1, 2, 4, 3};
       }},
      {"convert onto constant", [](Plan& p) { step<ConvertStep>(p, 1).to = kConstant; }},
      {"convert cost", [](Plan& p) { step<ConvertStep>(p, 1).cost = Duration::picoseconds(-1); }},
      {"peer reorder", [](Plan& p) { p.buffers[kPeer].tensor.form.layout = "NHWC"; }},
      {"peer cast", [](Plan& p) { p.buffers[kPeer].tensor.form.storage = Storage{StorageType::F16}; }},
      {"storage", [](Plan& p) { p.buffers[kDeviceIn].tensor.form.storage = Storage{static_cast<StorageType>(99)}; }},
      {"storage of a float", [](Plan& p) { p.buffers[kDeviceIn].tensor.form.storage = Storage{StorageType::I8}; }},
      {"storage of a constant", [](Plan& p) { p.buffers[kConstant].tensor.form.storage = Storage{StorageType::F16}; }},
      {"storage that does not fit",
       [](Plan& p) {
         p.spaces[1].arena_bytes = p.buffers[kDeviceIn].offset + 4;
         p.buffers[kDeviceIn].tensor.form.storage = Storage{StorageType::F64};
       }},
      {"scale",
       [](Plan& p) {
         p.buffers[kDeviceIn].tensor.form.storage = Storage{StorageType::I8, Quantisation{-1, 0}};
       }},
      {"scale of a half",
       [](Plan& p) {
         p.buffers[kDeviceIn].tensor.form.storage = Storage{StorageType::F16, Quantisation{1, 0}};
       }},
      {"host operand rounded", [](Plan& p) { p.buffers[kHostOut].tensor.form.storage = Storage{StorageType::F16}; }},
      {"device index", [](Plan& p) { step<DeviceStep>(p, 2).device = 2; }},
      {"device duration", [](Plan& p) { step<DeviceStep>(p, 2).duration = Duration::picoseconds(INT64_MAX); }},
      {"device operand elsewhere", [](Plan& p) { step<DeviceStep>(p, 2).device = 1; }},
      {"device operator", [](Plan& p) { step<DeviceStep>(p, 2).ops[0].op = "Nope"; }},
      {"input port", [](Plan& p) { p.inputs[0].buffer = 99; }},
      {"input on a device", [](Plan& p) { p.inputs[0].buffer = kDeviceOut; }},
      {"input onto constant", [](Plan& p) { p.inputs[0].buffer = kConstant; }},
      {"output port", [](Plan& p) { p.outputs[0].buffer = -1; }},
      {"output on a device", [](Plan& p) { p.outputs[0].buffer = kDeviceOut; }},
  };
  for (const auto& [name, damage] : damages) {
    Plan plan = good_plan().plan;
    damage(plan);
    EXPECT_FALSE(validate(plan)) << name;
  }
}

/// The part of the second of two hosts: it receives x, computes, and sends y.
TestPlan good_part() {
  TestPlan part;
  part.plan.part = {1, 2};
  part.plan.spaces.push_back({"host[0]", 0, 0, 0});
  part.plan.devices.push_back({"host[0]", std::string(kRemoteKind), {}, {}});
  const BufferId x = part.buffer(0, {2, 3});
  const BufferId y = part.buffer(0, {2, 3});
  const BufferId x_there = part.buffer(1, {2, 3});
  const BufferId y_there = part.buffer(1, {2, 3});
  part.convert(x_there, x);
  part.host({op("Relu", {x}, {y})});
  part.convert(y, y_there);
  return part;
}

TEST(Validate, AcceptsAGoodPart) {
  const Status status = validate(good_part().plan);
  EXPECT_TRUE(status) << status.message();
}

TEST(Validate, MemoryOfTheHostIsTheCompilersConcern) {
  Plan plan = good_part().plan;
  plan.spaces[0].capacity = 1;
  EXPECT_TRUE(validate(plan));
}

TEST(Validate, RefusesEveryDamageOfAPart) {
  const std::pair<const char*, std::function<void(Plan&)>> damages[] = {
      {"no part", [](Plan& p) { p.part = {}; }},
      {"no hosts", [](Plan& p) { p.part.hosts = 0; }},
      {"negative host", [](Plan& p) { p.part.host = -1; }},
      {"host beyond the hosts", [](Plan& p) { p.part.host = 2; }},
      {"itself as another host", [](Plan& p) { p.part.host = 0; }},
      {"remote host beyond the hosts", [](Plan& p) { p.spaces[1].name = p.devices[0].space = "host[2]"; }},
      {"remote device that is no host", [](Plan& p) { p.spaces[1].name = p.devices[0].space = "npu[0]"; }},
      {"an input",
       [](Plan& p) {
         p.inputs.push_back({"x", 0});
       }},
      {"an output",
       [](Plan& p) {
         p.outputs.push_back({"y", 1});
       }},
      {"an operand at another host", [](Plan& p) { std::get<OpCall>(step<HostStep>(p, 1).calls[0]).inputs[0] = 2; }},
      {"a copy that changes the layout", [](Plan& p) { p.buffers[2].tensor.form.layout = "CN"; }},
      {"a copy that changes the storage",
       [](Plan& p) { p.buffers[2].tensor.form.storage = Storage{StorageType::F16}; }},
      {"a copy within another host", [](Plan& p) { step<ConvertStep>(p, 0).to = 3; }},
      {"work at another host",
       [](Plan& p) {
         p.steps[1] = DeviceStep{-1, 0, {op("Relu", {2}, {3})}, {}};
       }},
      {"a constant of another host",
       [](Plan& p) {
         p.spaces[1].constant_bytes = 64;
         p.buffers[2].is_constant = true;
         p.constants.push_back({2, counting({2, 3})});
       }},
  };
  for (const auto& [name, damage] : damages) {
    Plan plan = good_part().plan;
    damage(plan);
    EXPECT_FALSE(validate(plan)) << name;
  }
}

}  // namespace
}  // namespace collage::runtime
