// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/plan_devices.h"

#include <gtest/gtest.h>

#include "runtime/exec/relocate.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::plan {
namespace {

using test::Model;

std::string npu(int i) {
  return "npu[" + std::to_string(i) + "]";
}

/// So many npus of which any two have a link, and one to the host.
ir::RuleSet npus(int count) {
  ir::Backend backend;
  backend.name = "npu";
  backend.runtime = ir::find_runtime("sim")->kind;
  ir::DeviceDecl device;
  device.name = "npu";
  device.count = count;
  device.links.push_back({"host", 1e9, runtime::Duration::picoseconds(1000), true, {}, {}});
  device.links.push_back({"npu", 2e9, runtime::Duration::picoseconds(500), true, {}, {}});
  backend.devices.push_back(std::move(device));
  return {{backend}};
}

/// x -> v0 on the first instance -> v1 on the second, … and back to the host.
void fill_chain(Model& model, const std::vector<std::string>& instances) {
  model.input("x", {4});
  std::string before = "x", space = "host";
  for (size_t i = 0; i < instances.size(); ++i) {
    const std::string value = "v" + std::to_string(i);
    model.node(value, "Relu", {before});
    model.convert(before.c_str(), {space, "plain"}, {instances[i], "plain"});
    before = value;
    space = instances[i];
  }
  model.convert(before.c_str(), {space, "plain"}, {});
  model.output(before.c_str());
  for (size_t i = 0; i < instances.size(); ++i) model.partition("npu", instances[i], {"v" + std::to_string(i)});
}

std::vector<std::string> ends(const runtime::Plan& plan, const std::string& space) {
  std::vector<std::string> names;
  for (const runtime::DeviceSpec& spec : plan.devices) {
    if (spec.space != space) continue;
    for (const runtime::DeviceSpec::Link& link : spec.links) names.push_back(link.to);
  }
  return names;
}

/// x -> npu[1] -> npu[0] -> host, and x -> npu[3] -> host.
void fill_chain_and_branch(Model& model) {
  model.targets = make_targets(npus(4), {});
  fill_chain(model, {"npu[1]", "npu[0]"});
  model.node("y", "Neg", {"x"});
  model.output("y");
  model.partition("npu", "npu[3]", {"y"});
  model.convert("x", {}, {"npu[3]", "plain"});
  model.convert("y", {"npu[3]", "plain"}, {});
}

TEST(PlanDevices, APlanThatDoesNotRunHasTheLinksThatItUses) {
  Model model;
  fill_chain_and_branch(model);
  for (const bool is_concurrent : {false, true}) {
    model.targets.is_concurrent = is_concurrent;
    const auto plan = outline_plan(model.graph, model.placement, model.targets);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->devices.size(), 3u);
    EXPECT_EQ(ends(*plan, "npu[0]"), (std::vector<std::string>{"host", "npu[1]"}));
    EXPECT_EQ(ends(*plan, "npu[1]"), (std::vector<std::string>{"host", "npu[0]"}));
    EXPECT_EQ(ends(*plan, "npu[3]"), (std::vector<std::string>{"host"}));
    EXPECT_EQ(plan->devices[0].links[1].bytes_per_second, 2e9);
  }
}

TEST(PlanDevices, AnEqualDeviceHasTheLinksToDoTheWorkOfALostOne) {
  Model model;
  fill_chain_and_branch(model);
  const BuiltPlan built = model.build();
  EXPECT_EQ(ends(built.plan, "npu[0]"), (std::vector<std::string>{"host", "npu[1]", "npu[3]"}));
  EXPECT_EQ(ends(built.plan, "npu[1]"), (std::vector<std::string>{"host", "npu[0]", "npu[3]"}));
  EXPECT_EQ(ends(built.plan, "npu[3]"), (std::vector<std::string>{"host", "npu[0]", "npu[1]"}));
  model.expect_runs_like_reference(built);
  const auto moved = runtime::without_devices(built.plan, {"npu[0]", "npu[1]"});
  ASSERT_TRUE(moved) << moved.message();
  for (const runtime::PlanPartition& partition : moved->partitions) EXPECT_EQ(partition.instance, "npu[3]");
}

TEST(PlanDevices, ADeviceThatOnlyHandsAValueOnHasItsLinks) {
  Model model;
  model.targets = make_targets(npus(2), {});
  fill_chain(model, {"npu[0]"});
  model.placement.conversions.pop_back();
  model.convert("v0", {"npu[0]", "plain"}, {"npu[1]", "plain"});
  model.convert("v0", {"npu[1]", "plain"}, {});
  const BuiltPlan built = model.build();
  EXPECT_EQ(ends(built.plan, "npu[0]"), (std::vector<std::string>{"host", "npu[1]"}));
  EXPECT_EQ(ends(built.plan, "npu[1]"), (std::vector<std::string>{"host", "npu[0]"}));
  model.expect_runs_like_reference(built);
}

TEST(PlanDevices, LinksOfADeviceDoNotGrowWithTheNumberOfDevices) {
  for (const int count : {60, 90}) {
    Model model;
    model.targets = make_targets(npus(count), {});
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) all.push_back(npu(i));
    fill_chain(model, all);
    const BuiltPlan built = model.build();
    // Eight devices before and after each end of a copy: to 17 before, and to 17 after.
    std::vector<std::string> near{"host"};
    for (int i = 30 - 17; i <= 30 + 17; ++i) {
      if (i != 30) near.push_back(npu(i));
    }
    EXPECT_EQ(ends(built.plan, "npu[30]"), near);
    const auto outline = outline_plan(model.graph, model.placement, model.targets);
    ASSERT_TRUE(outline);
    EXPECT_EQ(ends(*outline, "npu[30]"), (std::vector<std::string>{"host", "npu[29]", "npu[31]"}));
  }
}

TEST(PlanDevices, LinksThatATargetHasStay) {
  Model model;  // with a link between its two npus, and no topology
  fill_chain(model, {"npu[0]"});
  EXPECT_EQ(ends(model.build().plan, "npu[0]"), (std::vector<std::string>{"host", "npu[1]"}));
}

TEST(PlanDevices, AHostHasLinksToThoseWithWhichItExchangesValues) {
  ir::RuleSet rules;
  auto cluster = std::make_shared<ir::Cluster>();
  ir::HostDecl& host = cluster->hosts.emplace_back();
  host.count = 4;
  host.links.push_back({"host", 2e9, runtime::Duration::picoseconds(7), true, {}, {}});
  rules.cluster = cluster;
  Model model;
  model.targets = make_targets(rules, {});
  model.input("x", {4});
  model.node("a", "Relu", {"x"});
  model.output("a");
  model.partition("host", "host[2]", {"a"});
  model.convert("x", {}, {"host[2]", "plain"});
  model.convert("a", {"host[2]", "plain"}, {});
  const BuiltPlan built = model.build();
  EXPECT_EQ(ends(built.plan, "host[2]"), std::vector<std::string>{"host"});
  const std::vector<BuiltPlan> parts = cut_by_host(built, model.targets);
  EXPECT_EQ(ends(parts[0].plan, "host[2]"), std::vector<std::string>{"host"});
  EXPECT_EQ(ends(parts[2].plan, "host[0]"), std::vector<std::string>{"host"});
  model.expect_parts_run_like_reference(built);
}

}  // namespace
}  // namespace collage::plan
