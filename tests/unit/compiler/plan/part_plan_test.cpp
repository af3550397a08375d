// SPDX-License-Identifier: Apache-2.0
// Plans over several hosts, cut into their parts: each part has what runs there, and all together give the bits of the
// reference.
#include "compiler/plan/part_plan.h"

#include <set>

#include "compiler/plan/print_plan.h"
#include "runtime/plan/validate.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using namespace test;  // NOLINT: helpers of this file
using runtime::ConvertStep;
using runtime::HostStep;
using support::Code;

const ir::Format kSecondHost("host[1]", "plain");

/// x -> a = Relu -> s = Mul with a constant per channel, at the second host -> y = Add(s, a)
void fill_two_hosts(Model& model, int hosts = 2) {
  model.make_cluster(hosts);
  model.input("x", {1, 3, 2, 4});
  model.constant("w", counting({3, 1, 1}, 1, 2));
  model.node("a", "Relu", {"x"});
  model.node("s", "Mul", {"a", "w"});
  model.node("y", "Add", {"s", "a"});
  model.output("y");
  model.partition("host", "host", {"a"});
  model.partition("host", "host[1]", {"s"});
  model.partition("host", "host", {"y"});
  model.convert("a", {}, kSecondHost);
  model.convert("s", kSecondHost, {});
}

const runtime::Buffer& buffer_of(const runtime::Plan& plan, runtime::BufferId id) {
  return plan.buffers[static_cast<size_t>(id)];
}

/// Names of the values that a part sends to, or receives from, another host, in its order.
std::vector<std::string> messages(const runtime::Plan& part, const std::string& space, bool sent) {
  std::vector<std::string> names;
  for (const ConvertStep* step : steps_of<ConvertStep>(part)) {
    const runtime::Buffer& other = buffer_of(part, sent ? step->to : step->from);
    if (part.spaces[static_cast<size_t>(other.space)].name == space) names.push_back(other.name);
  }
  return names;
}

TEST(PartPlan, EachHostHasItsStepsAndCopies) {
  Model model;
  fill_two_hosts(model);
  const BuiltPlan whole = model.build();
  EXPECT_EQ(whole.plan.predicted.ps(), 3 * 100 + 2 * 10);
  ASSERT_EQ(whole.plan.steps.size(), 5u);
  const std::vector<BuiltPlan> parts = cut_by_host(whole, model.targets);
  ASSERT_EQ(parts.size(), 2u);
  for (const BuiltPlan& part : parts) {
    const runtime::Status valid = validate(part.plan);
    EXPECT_TRUE(valid) << valid.message();
    EXPECT_EQ(part.plan.predicted, whole.plan.predicted);
  }
  const runtime::Plan& first = parts[0].plan;
  EXPECT_EQ(first.part, (runtime::PlanPart{0, 2}));
  ASSERT_EQ(first.steps.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<HostStep>(first.steps[0]));
  EXPECT_TRUE(std::holds_alternative<HostStep>(first.steps[3]));
  EXPECT_EQ(messages(first, "host[1]", true), std::vector<std::string>{"a"});
  EXPECT_EQ(messages(first, "host[1]", false), std::vector<std::string>{"s"});
  ASSERT_EQ(first.devices.size(), 1u);
  EXPECT_EQ(first.devices[0].kind, runtime::kRemoteKind);
  ASSERT_EQ(first.devices[0].links.size(), 1u);
  EXPECT_EQ(first.devices[0].links[0].to, "host");
  ASSERT_EQ(first.partitions.size(), 2u);
  EXPECT_EQ(first.partitions[1].name, "p2");

  const runtime::Plan& second = parts[1].plan;
  EXPECT_EQ(second.part, (runtime::PlanPart{1, 2}));
  ASSERT_EQ(second.steps.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<HostStep>(second.steps[1]));
  EXPECT_EQ(messages(second, "host[0]", false), std::vector<std::string>{"a"});
  EXPECT_EQ(messages(second, "host[0]", true), std::vector<std::string>{"s"});
  EXPECT_EQ(second.spaces[0].name, "host");
  ASSERT_EQ(second.partitions.size(), 1u);
  EXPECT_EQ(second.partitions[0].instance, "host[1]");
  model.expect_parts_run_like_reference(whole);
}

TEST(PartPlan, PortsAndConstantsAreWhereTheyAreUsed) {
  Model model;
  fill_two_hosts(model);
  const std::vector<BuiltPlan> parts = cut_by_host(model.build(), model.targets);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].plan.inputs.size(), 1u);
  EXPECT_EQ(parts[0].plan.outputs.size(), 1u);
  EXPECT_TRUE(parts[1].plan.inputs.empty() && parts[1].plan.outputs.empty());
  EXPECT_TRUE(parts[0].plan.constants.empty());
  EXPECT_EQ(parts[0].plan.spaces[0].constant_bytes, 0u);
  ASSERT_EQ(parts[1].plan.constants.size(), 1u);
  EXPECT_EQ(buffer_of(parts[1].plan, parts[1].plan.constants[0].buffer).name, "w");
}

TEST(PartPlan, ValuesOfOtherHostsHavePlacesOfTheirOwn) {
  Model model;
  fill_two_hosts(model);
  const runtime::Plan first = std::move(cut_by_host(model.build(), model.targets)[0].plan);
  std::set<size_t> offsets;
  for (const runtime::Buffer& buffer : first.buffers) {
    if (buffer.space == 1) offsets.insert(buffer.offset);
  }
  EXPECT_EQ(offsets, (std::set<size_t>{0, 128}));  // 96 bytes each, aligned to 64
  EXPECT_EQ(first.spaces[1].arena_bytes, 256u);
}

TEST(PartPlan, AHostWithoutWorkHasAnEmptyPart) {
  Model model;
  fill_two_hosts(model, 3);
  const BuiltPlan whole = model.build();
  const std::vector<BuiltPlan> parts = cut_by_host(whole, model.targets);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(parts[2].plan.steps.empty());
  EXPECT_EQ(parts[2].plan.spaces.size(), 1u);
  model.expect_parts_run_like_reference(whole);
}

TEST(PartPlan, TheWholeDoesNotRunAlone) {
  Model model;
  fill_two_hosts(model);
  const runtime::Status valid = validate(model.build().plan);
  ASSERT_FALSE(valid);
  EXPECT_NE(valid.message().find("`mpirun -n N collage-run`"), std::string::npos) << valid.message();
}

TEST(PartPlan, TheWholeIsPredictedByTheEventModel) {
  Model model;
  model.make_cluster(2);
  model.targets.is_concurrent = true;
  model.input("x", {1, 3, 2, 4});
  model.node("a", "Relu", {"x"});
  model.node("b", "Neg", {"x"});
  model.node("y", "Add", {"a", "b"});
  model.output("y");
  model.partition("host", "host", {"a"}, 1000);
  model.partition("host", "host[1]", {"b"}, 1000);
  model.partition("host", "host", {"y"}, 100);
  model.convert("x", {}, kSecondHost);
  model.convert("b", kSecondHost, {});
  const BuiltPlan whole = model.build();
  // `a` runs beside the copy, `b` and the copy back: 10 + 1000 + 10, then `y`.
  EXPECT_EQ(whole.plan.predicted.ps(), 1120);
  const std::string text = print_parts(whole.plan, cut_by_host(whole, model.targets));
  EXPECT_NE(text.find("// host[1]\nplan @"), std::string::npos) << text;
  EXPECT_NE(text.find("at 10ps to 1.01ns: p1 on host[1]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("convert %x from host to host[1] on host -> host[1]"), std::string::npos) << text;
  model.expect_parts_run_like_reference(whole);
}

TEST(PartPlan, RefusesCopiesThatNoTwoHostsMake) {
  const auto code_of = [](const std::function<void(Model&)>& change) {
    Model model;
    fill_two_hosts(model);
    change(model);
    EXPECT_FALSE(build_plan(model.graph, model.placement, model.targets, model.jit, model.diags));
    return model.diags.records().empty() ? Code::CheckFailed : model.diags.records().front().code;
  };
  EXPECT_EQ(code_of([](Model& m) { m.placement.conversions[0].to.layout = "NHWC"; }), Code::NoRoute);
  EXPECT_EQ(code_of([](Model& m) { m.convert("a", {}, {"npu[1]", "plain"}); }), Code::NoRoute);
  EXPECT_EQ(code_of([](Model& m) { m.convert("a", {}, {"host[2]", "plain"}); }), Code::UnknownDevice);
}

TEST(PartPlan, MemoryOfHostsCounts) {
  Model model;
  fill_two_hosts(model);
  const std::vector<DeviceMemory> memory = count_device_memory(model.graph, model.placement, model.targets);
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[1].instance, "host[1]");
  // `w` takes 12 bytes, aligned to 64; `a` and `s` 96 each, at once.
  EXPECT_GE(memory[1].bytes, 64u + 2 * 96);
  EXPECT_LE(memory[1].bytes, 64u + 2 * 128);
  EXPECT_FALSE(memory[1].is_exceeded());

  model.targets.hosts[1].capacity = 100;
  EXPECT_TRUE(count_device_memory(model.graph, model.placement, model.targets)[1].is_exceeded());
  EXPECT_FALSE(build_plan(model.graph, model.placement, model.targets, model.jit, model.diags));
  EXPECT_TRUE(model.has_diagnostic(Code::LimitExceeded)) << model.diags.render();
  EXPECT_NE(model.diags.render().find("`host[1]` has 100 bytes of memory"), std::string::npos);
  const auto anyhow =
      build_plan(model.graph, model.placement, model.targets, model.jit, model.diags, MemoryExcess::Allowed);
  ASSERT_TRUE(anyhow) << model.diags.render();
  EXPECT_TRUE(device_memory(anyhow->plan, model.targets)[1].is_exceeded());
}

TEST(PartPlan, PartsOfASplitRunOnTheirHosts) {
  Model model;
  model.make_cluster(2);
  model.input("x", {1, 2, 6, 4});
  model.constant("w", counting({4, 2, 3, 3}, -1, 0.125f));
  ir::AttrMap attrs;
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  model.node("y", "Conv", {"x", "w"}, attrs);
  model.output("y");
  model.partition("host", "host", {"y"}, 10'000'000);
  model.placement.partitions.back().instance = "host+host[1]";
  model.placement.partitions.back().split = ir::PartitionSplit{model.graph.find_node("y"), ir::SplitAxis::Channels};
  const BuiltPlan whole = model.build();
  EXPECT_EQ(whole.plan.predicted.ps(), 10'000'000);
  const std::vector<BuiltPlan> parts = cut_by_host(whole, model.targets);
  ASSERT_EQ(parts.size(), 2u);
  // The other host has what it needs before this one begins: copy, part, copy back, join.
  ASSERT_EQ(parts[0].plan.steps.size(), 4u);
  EXPECT_EQ(messages(parts[0].plan, "host[1]", true), std::vector<std::string>{"x"});
  EXPECT_TRUE(std::holds_alternative<ConvertStep>(parts[0].plan.steps[0]));
  EXPECT_TRUE(std::holds_alternative<HostStep>(parts[0].plan.steps[1]));
  EXPECT_EQ(parts[0].plan.lanes, (std::vector<int>{2, 1, 2, 0}));
  EXPECT_EQ(parts[1].plan.lanes, (std::vector<int>{1, 1, 1}));
  // Each has its half of the weights.
  for (const BuiltPlan& part : parts) EXPECT_EQ(part.plan.spaces[0].constant_bytes, 2u * 2 * 9 * 4 + 48);
  model.expect_parts_run_like_reference(whole);
}

TEST(PartPlan, ASplitOverDevicesOfTwoHostsGoesThroughTheirMemories) {
  Model model;
  model.make_cluster(2);
  model.input("x", {1, 2, 6, 4});
  model.constant("w", counting({4, 2, 3, 3}, -1, 0.125f));
  ir::AttrMap attrs;
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  model.node("y", "Conv", {"x", "w"}, attrs);
  model.output("y");
  model.partition("npu", "host", {"y"}, 10'000'000);
  model.placement.partitions.back().instance = "npu[0]+npu[1]";
  model.placement.partitions.back().split = ir::PartitionSplit{model.graph.find_node("y"), ir::SplitAxis::Channels};
  const BuiltPlan whole = model.build();
  const std::vector<BuiltPlan> parts = cut_by_host(whole, model.targets);
  ASSERT_EQ(parts.size(), 2u);
  // From the first host, to the device, from it, to the first host; and the launch.
  EXPECT_EQ(steps_of<ConvertStep>(parts[1].plan).size(), 4u);
  EXPECT_EQ(steps_of<runtime::DeviceStep>(parts[1].plan).size(), 1u);
  ASSERT_EQ(parts[1].plan.devices.size(), 2u);
  EXPECT_EQ(parts[1].plan.devices[0].space, "npu[1]");
  EXPECT_EQ(parts[1].plan.devices[0].links[0].to, "host");
  model.expect_parts_run_like_reference(whole);
}

}  // namespace
}  // namespace collage::plan
