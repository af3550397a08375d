// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/build_plan.h"

#include <set>

#include "compiler/plan/print_plan.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using namespace test;  // NOLINT: helpers of this file
using ir::Format;
using runtime::ConvertStep;
using runtime::DeviceStep;
using runtime::HostStep;
using support::Code;

/// x -> a = Relu -> s = Mul with a constant per channel -> y = Add(s, a)
void fill_diamond(Model& model) {
  model.input("x", {1, 3, 2, 4});
  model.constant("w", counting({3, 1, 1}, 1, 2));
  model.node("a", "Relu", {"x"});
  model.node("s", "Mul", {"a", "w"});
  model.node("y", "Add", {"s", "a"});
  model.output("y");
}

TEST(BuildPlan, HostOnly) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a", "s", "y"});
  BuiltPlan built = model.build();
  EXPECT_TRUE(built.fallbacks.empty());
  EXPECT_EQ(built.plan.steps.size(), 1u);
  EXPECT_EQ(built.plan.predicted.ps(), 100);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, HostAndDeviceWithLayouts) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a"});
  model.partition("npu", "npu[0]", {"s"}, 5000, {{"a", "NHWC"}, {"s", "NHWC"}});
  model.partition("host", "host", {"y"});
  model.convert("a", {}, {"npu[0]", "plain"});
  model.convert("a", {"npu[0]", "plain"}, {"npu[0]", "NHWC"}, 77);
  model.convert("s", {"npu[0]", "NHWC"}, {"host", "NHWC"});
  model.convert("s", {"host", "NHWC"}, {});
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.predicted.ps(), 100 + 5000 + 100 + 10 + 77 + 10 + 10);
  // Relu, copy, reorder, Mul, copy, reorder, Add: each conversion right before the step that needs it.
  ASSERT_EQ(built.plan.steps.size(), 7u);
  EXPECT_TRUE(std::holds_alternative<HostStep>(built.plan.steps[0]));
  EXPECT_TRUE(std::holds_alternative<DeviceStep>(built.plan.steps[3]));
  EXPECT_TRUE(std::holds_alternative<HostStep>(built.plan.steps[6]));
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, DeviceTimeIsCopiesReordersAndLaunches) {
  Model model;
  fill_diamond(model);
  model.partition("npu", "npu[0]", {"a", "s", "y"}, 5000);
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("y", {"npu[0]", "plain"}, {});
  BuiltPlan built = model.build();
  auto executor = model.load(built);
  ASSERT_TRUE(executor->run(model.inputs()));
  // 96 bytes each way at 1 GB/s + 1 ns.
  EXPECT_EQ(executor->device_time().ps(), 2 * (1000 + 96'000) + 5000);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, PeerCopiesAndTwoDevices) {
  Model model;
  fill_diamond(model);
  model.partition("npu", "npu[0]", {"a"});
  model.partition("npu", "npu[1]", {"s", "y"});
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("a", {"npu[0]", "plain"}, {"npu[1]", "plain"});
  model.convert("y", {"npu[1]", "plain"}, {});
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.devices.size(), 2u);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, UnusedDevicesAreLeftOut) {
  Model model;
  fill_diamond(model);
  model.partition("npu", "npu[1]", {"a", "s", "y"});
  model.convert("x", {}, {"npu[1]", "plain"});
  model.convert("y", {"npu[1]", "plain"}, {});
  BuiltPlan built = model.build();
  ASSERT_EQ(built.plan.devices.size(), 1u);
  EXPECT_EQ(built.plan.devices[0].space, "npu[1]");
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, ConversionsOfATreeAreEmittedOnceInItsOrder) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a"});
  model.partition("npu", "npu[0]", {"s"}, 1, {{"a", "NHWC"}});
  model.partition("npu", "npu[0]", {"y"}, 1, {{"a", "NHWC"}});
  // Written down leaf first.
  model.convert("a", {"npu[0]", "plain"}, {"npu[0]", "NHWC"});
  model.convert("a", {}, {"npu[0]", "plain"});
  model.convert("y", {"npu[0]", "plain"}, {});
  BuiltPlan built = model.build();
  EXPECT_EQ(steps_of<ConvertStep>(built.plan).size(), 3u);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, ConstantsAreResidentOncePerSpace) {
  Model model;
  model.input("x", {1, 3, 2, 4});
  model.constant("w", counting({3, 1, 1}, 1, 2));
  model.node("a", "Mul", {"x", "w"});
  model.node("b", "Mul", {"a", "w"});
  model.node("c", "Mul", {"b", "w"});
  model.output("c");
  model.partition("npu", "npu[0]", {"a"});
  model.partition("npu", "npu[0]", {"b"});
  model.partition("host", "host", {"c"});
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("b", {"npu[0]", "plain"}, {});
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.constants.size(), 2u);
  EXPECT_EQ(built.plan.spaces[0].constant_bytes, 64u);
  EXPECT_EQ(built.plan.spaces[1].constant_bytes, 64u);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, HostPartitionsWithOtherLayoutsAreWrapped) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a"}, 1, {{"a", "NHWC"}});
  model.partition("host", "host", {"s"}, 1, {{"a", "NHWC"}, {"s", "NHWC"}});
  model.partition("npu", "npu[0]", {"y"}, 1, {{"a", "NHWC"}, {"s", "NHWC"}, {"y", "NHWC"}});
  model.convert("a", {"host", "NHWC"}, {"npu[0]", "NHWC"});
  model.convert("s", {"host", "NHWC"}, {"npu[0]", "NHWC"});
  model.convert("y", {"npu[0]", "NHWC"}, {"host", "plain"});
  model.expect_runs_like_reference(model.build());
}

TEST(BuildPlan, NamedLogicalOrderIsThePlainLayout) {
  Model model;
  fill_diamond(model);
  model.partition("npu", "npu[0]", {"a", "s", "y"}, 1, {{"x", "NCHW"}, {"y", "NCHW"}});
  model.convert("x", {"host", "NCHW"}, {"npu[0]", "NCHW"});
  model.convert("y", {"npu[0]", "NCHW"}, {});
  model.expect_runs_like_reference(model.build());
}

TEST(BuildPlan, AbsentOperandsStayAbsent) {
  for (const char* where : {"host", "npu[0]"}) {
    Model model;
    bool is_host = std::string_view(where) == "host";
    model.input("x", {5});
    model.constant("most", counting({}, 0.5f, 0));
    model.node("y", "Clip", {"x", "", "most"});
    model.output("y");
    model.partition(is_host ? "host" : "npu", where, {"y"});
    if (!is_host) {
      model.convert("x", {}, {"npu[0]", "plain"});
      model.convert("y", {"npu[0]", "plain"}, {});
    }
    model.expect_runs_like_reference(model.build());
  }
}

TEST(BuildPlan, OutputsThatAreInputsOrConstantsOrTaps) {
  Model model;
  fill_diamond(model);
  model.output("x");
  model.output("w");
  model.output("a");
  model.partition("npu", "npu[0]", {"a", "s", "y"});
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("a", {"npu[0]", "plain"}, {});
  model.convert("y", {"npu[0]", "plain"}, {});
  model.expect_runs_like_reference(model.build());
}

TEST(BuildPlan, LongChainsReuseMemory) {
  Model model;
  model.input("v0", {1000});
  std::vector<std::string> nodes;
  for (int i = 1; i <= 20; ++i) {
    nodes.push_back("v" + std::to_string(i));
    model.node(nodes.back(), i % 2 != 0 ? "Neg" : "Abs", {"v" + std::to_string(i - 1)});
  }
  model.output("v20");
  model.partition("host", "host", nodes);
  BuiltPlan built = model.build();
  EXPECT_EQ(built.plan.spaces[0].arena_bytes, 2u * 4032);
  model.expect_runs_like_reference(built);
}

/// y = max(x, 0) + packed[0]; buffers: x, y, packed.
void relu_kernel(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin; i < end; ++i) y[i] = (x[i] > 0 ? x[i] : 0) + static_cast<const float*>(buffers[2])[0];
}

TEST(BuildPlan, PortsThatShareTheirBytesAreNotApart) {
  Model model;
  for (const char* name : {"x", "w"}) model.input(name, {16});
  model.node("r", "Relu", {"x"});
  model.node("y", "Identity", {"x"});
  model.node("z", "Add", {"w", "r"});
  for (const char* name : {"y", "z"}) model.output(name);
  model.partition("host", "host", {"r", "y", "z"});
  model.jit.lower_with = [](const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
    codegen::LoweredPartition lowered;
    for (ir::NodeId node : nodes) {
      codegen::LoweredReference call{node};
      const bool copies = node == graph.find_node("y");
      if (copies) call.in_place = codegen::SharedMemory{graph.find_value("x"), graph.find_value("y"), 0};
      lowered.calls.emplace_back(call);
    }
    return lowered;
  };
  BuiltPlan built = model.build();
  const std::vector<runtime::PlanPort>& inputs = built.plan.inputs;
  const std::vector<runtime::PlanPort>& outputs = built.plan.outputs;
  EXPECT_FALSE(inputs[0].is_apart) << "%x is %y without a copy";
  EXPECT_TRUE(inputs[1].is_apart);
  EXPECT_FALSE(outputs[0].is_apart);
  EXPECT_TRUE(outputs[1].is_apart);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, LoweredKernelsGetTheirConstants) {
  Model model;
  model.input("x", {3, 8});
  model.node("a", "Relu", {"x"});
  model.node("y", "Identity", {"a"});
  model.output("y");
  model.partition("host", "host", {"a", "y"});
  model.jit.kernels["relu"] = &relu_kernel;
  model.jit.lower_with = [](const ir::Graph& graph, const std::vector<ir::NodeId>&) {
    using Kind = codegen::LoweredOperand::Kind;
    codegen::LoweredPartition lowered;
    lowered.constants.push_back(counting({1}, 0, 0));
    codegen::LoweredKernel kernel{"relu", {}, 24, 4, 0};
    kernel.operands = {
        {Kind::Value, graph.find_value("x"), -1}, {Kind::Value, graph.find_value("y"), -1}, {Kind::Constant, {}, 0}};
    lowered.calls.emplace_back(kernel);
    return lowered;
  };
  BuiltPlan built = model.build();
  EXPECT_TRUE(built.fallbacks.empty());
  for (const runtime::Buffer& buffer : built.plan.buffers) EXPECT_NE(buffer.name, "a") << "fused away, needs no memory";
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, WhatTheJitCannotDoRunsByReferenceWithAWarning) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a", "s"});
  model.partition("host", "host", {"y"});
  auto otherwise = model.jit.lower_with;
  model.jit.lower_with = [&](const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
    if (nodes.size() == 2)
      return runtime::Result<codegen::LoweredPartition>(runtime::Status::error("out of registers"));
    return otherwise(graph, nodes);
  };
  BuiltPlan built = model.build();
  ASSERT_EQ(built.fallbacks.size(), 1u);
  EXPECT_EQ(built.fallbacks[0].partition, 0u);
  EXPECT_EQ(built.fallbacks[0].reason, "out of registers");
  EXPECT_TRUE(model.has_diagnostic(Code::BackendFailed));
  EXPECT_FALSE(model.diags.has_errors());
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, CodeThatForgetsAResultIsAFallback) {
  Model model;
  fill_diamond(model);
  model.partition("host", "host", {"a", "s", "y"});
  model.jit.lower_with = [](const ir::Graph&, const std::vector<ir::NodeId>&) { return codegen::LoweredPartition{}; };
  BuiltPlan built = model.build();
  ASSERT_EQ(built.fallbacks.size(), 1u);
  EXPECT_EQ(built.fallbacks[0].reason, "its code does not write `%y`");
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, ALibraryThatIsNotThereIsAFallback) {
  Model model;
  fill_diamond(model);
  model.partition("lib", "host", {"a", "s", "y"});
  BuiltPlan built = model.build();
  EXPECT_EQ(built.fallbacks.size(), 1u);
  model.expect_runs_like_reference(built);
}

TEST(BuildPlan, ADeviceWithoutRoomIsAnError) {
  Model model;
  fill_diamond(model);
  model.partition("npu", "npu[0]", {"a", "s", "y"});
  model.convert("x", {}, {"npu[0]", "plain"});
  model.convert("y", {"npu[0]", "plain"}, {});
  size_t needed = 0;
  {
    BuiltPlan built = model.build();
    needed = built.plan.spaces[1].arena_bytes + built.plan.spaces[1].constant_bytes;
  }
  model.targets.devices[0].capacity = needed;
  model.expect_runs_like_reference(model.build());
  model.targets.devices[0].capacity = needed - 1;
  EXPECT_FALSE(build_plan(model.graph, model.placement, model.targets, model.jit, model.diags));
  EXPECT_TRUE(model.has_diagnostic(Code::LimitExceeded));
}

TEST(BuildPlan, PlacementsThatCannotRunAreErrors) {
  auto expect = [](Code code, const std::function<void(Model&)>& spoil) {
    Model model;
    fill_diamond(model);
    model.partition("npu", "npu[0]", {"a", "s", "y"});
    model.convert("x", {}, {"npu[0]", "plain"});
    model.convert("y", {"npu[0]", "plain"}, {});
    spoil(model);
    EXPECT_FALSE(build_plan(model.graph, model.placement, model.targets, model.jit, model.diags));
    EXPECT_TRUE(model.has_diagnostic(code)) << model.diags.render();
  };
  expect(Code::WrongFormat, [](Model& m) { m.placement.conversions.clear(); });
  expect(Code::WrongFormat, [](Model& m) { m.placement.conversions.pop_back(); });
  expect(Code::WrongFormat, [](Model& m) { m.placement.conversions[0].from = {"npu[0]", "plain"}; });  // a cycle
  expect(Code::WrongFormat, [](Model& m) { m.placement.conversions[0].to.layout = "NCW"; });
  expect(Code::WrongFormat, [](Model& m) { m.placement.partitions[0].inputs[0].format.space = "npu[1]"; });
  expect(Code::NoRoute, [](Model& m) { m.convert("x", {"npu[0]", "plain"}, {"npu[1]", "NHWC"}); });
  expect(Code::UnknownDevice, [](Model& m) { m.placement.conversions[0].to.space = "tpu[0]"; });
  expect(Code::UnknownDevice, [](Model& m) { m.placement.partitions[0].instance = "tpu[0]"; });
  expect(Code::UnknownDevice, [](Model& m) { m.placement.partitions[0].backend = "tpu"; });
  expect(Code::BackendFailed, [](Model& m) { m.placement.partitions[0].backend = "host"; });
}

TEST(BuildPlan, TheSamePlacementGivesTheSamePlan) {
  auto text = [] {
    Model model;
    fill_diamond(model);
    model.partition("npu", "npu[0]", {"a", "s"}, 5, {{"s", "NHWC"}});
    model.partition("host", "host", {"y"});
    model.convert("x", {}, {"npu[0]", "plain"});
    model.convert("a", {"npu[0]", "plain"}, {});
    model.convert("s", {"npu[0]", "NHWC"}, {});
    return print_plan(model.build().plan);
  };
  EXPECT_EQ(text(), text());
  for (const char* part : {"plan @model predicted 135ps", "device npu[0]: sim", "%s: npu[0] NHWC f32[1, 3, 2, 4] at",
                           "p0 on npu(npu[0]) takes 5ps", "  Relu(b", "constant at 0"}) {
    EXPECT_NE(text().find(part), std::string::npos) << part << "\n" << text();
  }
}

}  // namespace
}  // namespace collage::plan
