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

}  // namespace
}  // namespace collage::runtime
