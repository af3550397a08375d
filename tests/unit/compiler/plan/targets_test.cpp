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

std::vector<std::string> ends(const DeviceTarget& device) {
  std::vector<std::string> names;
  for (const auto& link : device.spec.links) names.push_back(link.to);
  return names;
}

TEST(Targets, OneDevicePerInstanceWithLinksBothWays) {
  PlanTargets targets = make_targets(two_accelerators(), {});
  ASSERT_EQ(targets.devices.size(), 3u);
  const DeviceTarget* npu1 = targets.find_device("npu[1]");
  ASSERT_NE(npu1, nullptr);
  EXPECT_EQ(npu1->spec.kind, "sim");
  EXPECT_EQ(npu1->capacity, 8u << 20);
  EXPECT_EQ(ends(*npu1), (std::vector<std::string>{"host", "npu[0]", "dsp[0]"}));
  EXPECT_EQ(npu1->spec.links[1].bytes_per_second, 12e9);
  const DeviceTarget* dsp = targets.find_device("dsp[0]");
  ASSERT_NE(dsp, nullptr);
  EXPECT_EQ(dsp->spec.kind, "null");
  EXPECT_EQ(dsp->capacity, 0u);
  EXPECT_EQ(ends(*dsp), (std::vector<std::string>{"host", "npu[0]", "npu[1]"}));
  EXPECT_EQ(targets.find_device("npu[2]"), nullptr);
  // Both ends declare the link between them: the faster counts in both directions.
  EXPECT_EQ(npu1->spec.links[2].bytes_per_second, 3e9);
  EXPECT_EQ(dsp->spec.links[2].bytes_per_second, 3e9);
}

TEST(Targets, WaysOverASwitchAreLinksWithHops) {
  ir::RuleSet rules = two_accelerators();
  rules.switches.push_back({"pcie", {{"host", 16e9, Duration::picoseconds(3), true, {}, {}}}, {}});
  for (ir::Backend& backend : rules.backends) {
    backend.switches = rules.switches;
    for (ir::DeviceDecl& device : backend.devices) {
      device.links = {{"pcie", 4e9, Duration::picoseconds(8), false, {}, {}}};
    }
  }
  PlanTargets targets = make_targets(rules, {});
  const DeviceTarget* npu1 = targets.find_device("npu[1]");
  ASSERT_NE(npu1, nullptr);
  EXPECT_EQ(ends(*npu1), (std::vector<std::string>{"host", "npu[0]", "dsp[0]"}));
  const auto& host = npu1->spec.links[0];
  EXPECT_EQ(host.bytes_per_second, 4e9);
  EXPECT_EQ(host.latency.ps(), 11);
  EXPECT_EQ(host.hops, (std::vector<runtime::LinkHop>{{"npu[1]", "pcie", false}, {"pcie", "host", true}}));
  EXPECT_EQ(npu1->spec.links[1].hops,
            (std::vector<runtime::LinkHop>{{"npu[1]", "pcie", false}, {"pcie", "npu[0]", false}}));
  EXPECT_EQ(npu1->spec.links[1].latency.ps(), 16);
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

}  // namespace
}  // namespace collage::plan
