// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/targets.h"

#include <gtest/gtest.h>

namespace collage::plan {
namespace {

using runtime::Duration;

ir::RuleSet two_accelerators() {
  ir::Backend npu;
  npu.name = "npu";
  npu.runtime = ir::find_runtime("sim")->kind;
  ir::DeviceDecl device;
  device.name = "npu";
  device.count = 2;
  device.memory_bytes = 8 * 1024.0 * 1024.0;
  device.links.push_back({"host", 4e9, Duration::picoseconds(8), true, {}, {}});
  device.links.push_back({"npu", 12e9, Duration::picoseconds(1), false, {}, {}});
  device.links.push_back({"dsp", 1e9, Duration::picoseconds(2), false, {}, {}});
  device.links.push_back({"nobody", 1e9, Duration::picoseconds(2), false, {}, {}});
  npu.devices.push_back(device);
  ir::AttrDecl lanes;
  lanes.name = "lanes";
  lanes.fallback = int64_t{8};
  npu.attrs.push_back(lanes);
  ir::Backend dsp;
  dsp.name = "dsp";
  dsp.runtime = ir::find_runtime("null")->kind;
  ir::DeviceDecl other;
  other.name = "dsp";
  other.links.push_back({"host", 1e9, Duration::picoseconds(5), false, {}, {}});
  other.links.push_back({"npu", 3e9, Duration::picoseconds(9), false, {}, {}});
  dsp.devices.push_back(other);
  ir::Backend blas;
  blas.name = "blas";
  blas.runtime = ir::RuntimeKind::Library;
  return {{npu, dsp, blas}};
}

using Link = runtime::DeviceSpec::Link;

/// To which of these the memory has a link.
std::vector<std::string> ends(const PlanTargets& targets, const DeviceTarget& memory) {
  std::vector<std::string> names;
  for (const char* to : {"host", "host[1]", "npu[0]", "npu[1]", "dsp[0]", "nobody[0]"}) {
    if (targets.find_link(memory, to)) names.emplace_back(to);
  }
  return names;
}

TEST(Targets, OneDevicePerInstanceWithLinksBothWays) {
  PlanTargets targets = make_targets(two_accelerators(), {});
  ASSERT_EQ(targets.devices.size(), 3u);
  const DeviceTarget* npu1 = targets.find_device("npu[1]");
  ASSERT_NE(npu1, nullptr);
  EXPECT_EQ(npu1->spec.kind, "sim");
  EXPECT_EQ(npu1->capacity, 8u << 20);
  EXPECT_TRUE(npu1->spec.links.empty()) << "they are found for the pairs that are asked for";
  EXPECT_EQ(ends(targets, *npu1), (std::vector<std::string>{"host", "npu[0]", "dsp[0]"}));
  EXPECT_EQ(targets.find_link(*npu1, "npu[0]").value_or(Link()).bytes_per_second, 12e9);
  const DeviceTarget* dsp = targets.find_device("dsp[0]");
  ASSERT_NE(dsp, nullptr);
  EXPECT_EQ(dsp->spec.kind, "null");
  EXPECT_EQ(dsp->capacity, 0u);
  EXPECT_EQ(ends(targets, *dsp), (std::vector<std::string>{"host", "npu[0]", "npu[1]"}));
  EXPECT_EQ(targets.find_device("npu[2]"), nullptr);
  // Both ends declare the link between them: the faster counts in both directions.
  EXPECT_EQ(targets.find_link(*npu1, "dsp[0]").value_or(Link()).bytes_per_second, 3e9);
  EXPECT_EQ(targets.find_link(*dsp, "npu[1]").value_or(Link()).bytes_per_second, 3e9);
}

TEST(Targets, ALinkOfASpecCountsBeforeTheTopology) {
  PlanTargets targets = make_targets(two_accelerators(), {});
  targets.devices[0].spec.links.push_back({"host", 1e3, Duration::picoseconds(4)});
  EXPECT_EQ(targets.find_link(targets.devices[0], "host").value_or(Link()).bytes_per_second, 1e3);
  EXPECT_EQ(targets.find_link(targets.devices[1], "host").value_or(Link()).bytes_per_second, 4e9);
  targets.topology.reset();
  EXPECT_EQ(ends(targets, targets.devices[0]), std::vector<std::string>{"host"});
  EXPECT_TRUE(ends(targets, targets.devices[1]).empty());
}

TEST(Targets, WaysOverASwitchAreLinksWithHops) {
  ir::RuleSet rules = two_accelerators();
  rules.switches.push_back({"pcie", {{"host", 16e9, Duration::picoseconds(3), true, {}, {}}}, {}});
  const auto switches = std::make_shared<const std::vector<ir::SwitchDecl>>(rules.switches);
  for (ir::Backend& backend : rules.backends) {
    backend.switches = switches;
    for (ir::DeviceDecl& device : backend.devices) {
      device.links = {{"pcie", 4e9, Duration::picoseconds(8), false, {}, {}}};
    }
  }
  PlanTargets targets = make_targets(rules, {});
  const DeviceTarget* npu1 = targets.find_device("npu[1]");
  ASSERT_NE(npu1, nullptr);
  EXPECT_EQ(ends(targets, *npu1), (std::vector<std::string>{"host", "npu[0]", "dsp[0]"}));
  const Link host = targets.find_link(*npu1, "host").value_or(Link());
  EXPECT_EQ(host.bytes_per_second, 4e9);
  EXPECT_EQ(host.latency.ps(), 11);
  EXPECT_EQ(host.hops, (std::vector<runtime::LinkHop>{{"npu[1]", "pcie", false}, {"pcie", "host", true}}));
  const Link other = targets.find_link(*npu1, "npu[0]").value_or(Link());
  EXPECT_EQ(other.hops, (std::vector<runtime::LinkHop>{{"npu[1]", "pcie", false}, {"pcie", "npu[0]", false}}));
  EXPECT_EQ(other.latency.ps(), 16);
}

TEST(Targets, AttributesAreDefaultsUnlessGiven) {
  BackendAttrs attrs;
  EXPECT_EQ(make_targets(two_accelerators(), attrs).devices[0].spec.attrs.get_int("lanes", 0), 8);
  attrs["npu"].set("lanes", int64_t{16});
  EXPECT_EQ(make_targets(two_accelerators(), attrs).devices[0].spec.attrs.get_int("lanes", 0), 16);
}

TEST(Targets, TheHostIsAlwaysThere) {
  PlanTargets targets = make_targets({}, {});
  ASSERT_NE(targets.find_backend("host"), nullptr);
  EXPECT_EQ(targets.find_backend("host")->runtime, ir::RuntimeKind::HostJit);
  EXPECT_EQ(make_targets(two_accelerators(), {}).find_backend("blas")->runtime, ir::RuntimeKind::Library);
}

TEST(Targets, HostsOfAClusterAndWhatStandsAtThem) {
  ir::RuleSet rules = two_accelerators();
  EXPECT_FALSE(make_targets(rules, {}).is_cluster());
  auto cluster = std::make_shared<ir::Cluster>();
  ir::HostDecl& host = cluster->hosts.emplace_back();
  host.count = 2;
  host.memory_bytes = 1024;
  host.links.push_back({"host", 2e9, Duration::picoseconds(7), true, {}, {}});
  rules.cluster = cluster;
  for (ir::Backend& backend : rules.backends) backend.cluster = cluster;
  rules.backends[0].devices[0].hosts = {0, 1};
  const PlanTargets targets = make_targets(rules, {});
  EXPECT_TRUE(targets.is_cluster());
  ASSERT_EQ(targets.hosts.size(), 2u);
  EXPECT_EQ(targets.hosts[1].spec.space, "host[1]");
  EXPECT_EQ(targets.hosts[1].spec.kind, runtime::kRemoteKind);
  EXPECT_EQ(targets.hosts[1].capacity, 1024u);
  // Hosts are linked, and what stands at one of them.
  EXPECT_EQ(ends(targets, targets.hosts[0]), (std::vector<std::string>{"host[1]", "npu[0]", "dsp[0]"}));
  EXPECT_EQ(ends(targets, targets.hosts[1]), (std::vector<std::string>{"host", "npu[1]"}));
  const Link link = targets.find_link(targets.hosts[1], "host").value_or(Link());
  EXPECT_EQ(link.bytes_per_second, 2e9);
  EXPECT_EQ(link.latency, Duration::picoseconds(7));
  EXPECT_TRUE(link.duplex);
  EXPECT_EQ(ends(targets, *targets.find_device("npu[0]")), (std::vector<std::string>{"host", "dsp[0]"}));
  EXPECT_EQ(ends(targets, *targets.find_device("npu[1]")), std::vector<std::string>{"host[1]"});
  EXPECT_EQ(targets.host_of("npu[0]"), 0);
  EXPECT_EQ(targets.host_of("npu[1]"), 1);
  EXPECT_EQ(targets.host_of("host[1]"), 1);
  EXPECT_TRUE(targets.has_host("host") && targets.has_host("host[1]"));
  EXPECT_FALSE(targets.has_host("host[2]") || targets.has_host("npu[0]"));
  EXPECT_EQ(targets.find_memory("host[2]"), nullptr);
}

}  // namespace
}  // namespace collage::plan
