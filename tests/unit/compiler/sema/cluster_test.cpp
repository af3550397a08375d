// SPDX-License-Identifier: Apache-2.0
// Clusters, and networks by their shape: what sema makes of them.
#include "compiler/ir/topology/topology.h"
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

using runtime::Duration;

class ClusterSema : public RulesFixture {
 public:
  static std::string npu(const std::string& device) { return " backend npu { device npu " + device + " runtime sim }"; }
};

std::vector<std::string> names_of(const std::vector<ir::SwitchDecl>& switches) {
  std::vector<std::string> names;
  for (const ir::SwitchDecl& one : switches) names.push_back(one.name);
  return names;
}

std::string hops(const ir::RuleSet& rules, const std::string& from, const std::string& to) {
  const ir::Topology topology(rules);
  const ir::Route* route = topology.find(from, to);
  if (route == nullptr) return "none";
  std::string text = route->hops.front().from;
  for (const runtime::LinkHop& hop : route->hops) text += " " + hop.to;
  return text;
}

TEST_F(ClusterSema, HostsAndTheirDevicesAreNumberedThrough) {
  auto rules = build(
      "rules 1 switch lan {} cluster lab {"
      " host count 2 { memory 16 GiB devices npu 2 link lan bandwidth 10 GB/s latency 5 us duplex }"
      " host { link lan bandwidth 25 GB/s devices npu 1 } }" +
      npu("count 7 { link host bandwidth 4 GB/s }") + " backend cpu { runtime host_jit }");
  ASSERT_TRUE(rules) << diags.render();
  ASSERT_NE(rules->cluster, nullptr);
  EXPECT_EQ(rules->cluster->name, "lab");
  EXPECT_EQ(rules->cluster->host_count(), 3);
  EXPECT_EQ(rules->cluster->host(1).memory_bytes, 16.0 * 1024 * 1024 * 1024);
  EXPECT_FALSE(rules->cluster->host(2).memory_bytes);
  const ir::Link& link = rules->cluster->host(0).links.at(0);
  EXPECT_EQ(link.bytes_per_second, 10e9);
  EXPECT_EQ(link.latency, Duration::picoseconds(5'000'000));
  EXPECT_TRUE(link.duplex);
  const ir::DeviceDecl& device = rules->find("npu")->devices.at(0);
  EXPECT_EQ(device.count, 5);
  EXPECT_EQ(device.hosts, (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(rules->find("cpu")->instances(), (std::vector<std::string>{"host", "host[1]", "host[2]"}));
  EXPECT_EQ(rules->find("cpu")->cluster, rules->cluster);
  EXPECT_EQ(rules->find("npu")->cluster, rules->cluster);
  EXPECT_EQ(hops(*rules, "npu[3]", "host[1]"), "npu[3] host[1]");
  EXPECT_EQ(hops(*rules, "host[2]", "host"), "host[2] lan host");
}

TEST_F(ClusterSema, WhatNoHostNamesStandsAtTheFirst) {
  auto rules = build("rules 1 cluster lab { host count 2 { link host bandwidth 10 GB/s } }" +
                     npu("count 2 { link host bandwidth 4 GB/s }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(rules->backends.at(0).devices.at(0).count, 2);
  EXPECT_TRUE(rules->backends.at(0).devices.at(0).hosts.empty());
  EXPECT_EQ(hops(*rules, "npu[1]", "host"), "npu[1] host");
}

TEST_F(ClusterSema, ItMayStandInAFileOfItsOwn) {
  const support::FileId first = sources.add("npu.rules", "rules 1" + npu("{ link host bandwidth 4 GB/s }"));
  const support::FileId second =
      sources.add("lab.rules", "rules 1 cluster lab { host count 2 { devices npu 2 link host bandwidth 10 GB/s } }");
  ir::RuleSet rules;
  for (support::FileId file : {first, second}) {
    auto ast = syntax::parse_rules(sources, file, diags);
    ASSERT_TRUE(ast && sema::build_rules(*ast, sources, file, rules, diags)) << diags.render();
  }
  ASSERT_TRUE(sema::check_rule_set(rules, diags)) << diags.render();
  EXPECT_EQ(rules.backends.at(0).devices.at(0).count, 4);
  EXPECT_EQ(rules.backends.at(0).cluster, rules.cluster);
}

TEST_F(ClusterSema, BackendsHaveOneListOfSwitches) {
  auto rules = build("rules 1 switch pcie { link host bandwidth 16 GB/s }" + npu("{ link pcie bandwidth 4 GB/s }") +
                     " backend near { runtime host_jit rule r { match y = Tanh(x) cost 1 us } }");
  ASSERT_TRUE(rules) << diags.render();
  ASSERT_EQ(rules->backends.size(), 2u);
  ASSERT_NE(rules->backends[0].switches, nullptr);
  EXPECT_EQ(rules->backends[0].switches, rules->backends[1].switches);
  EXPECT_EQ(names_of(*rules->backends[0].switches), std::vector<std::string>{"pcie"});
}

TEST_F(ClusterSema, WithoutBackendsToo) {
  auto rules = build("rules 1 switch lan {} cluster lab { host count 2 { link lan bandwidth 10 GB/s } }");
  EXPECT_TRUE(rules) << diags.render();
  EXPECT_EQ(diags.error_count(), 0u);
}

TEST_F(ClusterSema, ARingIsASwitchForEachMember) {
  auto rules = build("rules 1" + npu("count 5 { link host bandwidth 4 GB/s "
                                     "link ring bandwidth 100 GB/s latency 1 us energy 2 pJ duplex }"));
  ASSERT_TRUE(rules) << diags.render();
  const ir::Backend& backend = rules->backends.at(0);
  ASSERT_EQ(backend.devices.at(0).links.size(), 1u);
  EXPECT_EQ(backend.devices.at(0).links.at(0).to, "host");
  EXPECT_EQ(names_of(rules->switches),
            (std::vector<std::string>{"npu.ring[0]", "npu.ring[1]", "npu.ring[2]", "npu.ring[3]", "npu.ring[4]"}));
  EXPECT_EQ(names_of(*backend.switches), names_of(rules->switches));
  const ir::SwitchDecl& last = rules->switches.at(4);
  ASSERT_EQ(last.links.size(), 2u);
  EXPECT_EQ(last.links[0].to, "npu[4]");
  EXPECT_EQ(last.links[0].bytes_per_second, 100e9);
  EXPECT_EQ(last.links[0].latency, Duration());
  EXPECT_EQ(last.links[0].joules_per_byte, 0.0);
  EXPECT_TRUE(last.links[0].duplex);
  EXPECT_EQ(last.links[1].to, "npu.ring[0]");
  EXPECT_EQ(last.links[1].latency, Duration::picoseconds(1'000'000));
  EXPECT_EQ(hops(*rules, "npu[0]", "npu[3]"), "npu[0] npu.ring[0] npu.ring[4] npu.ring[3] npu[3]");
  EXPECT_EQ(ir::Topology(*rules).find("npu[0]", "npu[3]")->latency, Duration::picoseconds(2'000'000));
}

TEST_F(ClusterSema, TwoInARingHaveOneLink) {
  auto rules = build("rules 1" + npu("count 2 { link host bandwidth 4 GB/s link ring bandwidth 100 GB/s }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(rules->switches.at(0).links.size(), 2u);
  EXPECT_EQ(rules->switches.at(1).links.size(), 1u);
  EXPECT_EQ(hops(*rules, "npu[1]", "npu[0]"), "npu[1] npu.ring[1] npu.ring[0] npu[0]");
}

TEST_F(ClusterSema, ATorusIsRingsOfRowsAndColumns) {
  auto rules = build("rules 1" + npu("count 12 { link host bandwidth 4 GB/s "
                                     "link torus(3, 4) bandwidth 100 GB/s latency 1 us }"));
  ASSERT_TRUE(rules) << diags.render();
  ASSERT_EQ(rules->switches.size(), 12u);
  const auto& links = rules->switches.at(7).links;  // row 1, column 3
  ASSERT_EQ(links.size(), 3u);
  EXPECT_EQ(links[0].to, "npu[7]");
  EXPECT_EQ(links[1].to, "npu.torus[4]");
  EXPECT_EQ(links[2].to, "npu.torus[11]");
  EXPECT_EQ(rules->switches.at(11).links.at(2).to, "npu.torus[3]");
  EXPECT_EQ(hops(*rules, "npu[0]", "npu[8]"), "npu[0] npu.torus[0] npu.torus[8] npu[8]");
}

TEST_F(ClusterSema, ATorusMayHaveThreeDimensions) {
  auto rules = build("rules 1" + npu("count 18 { link host bandwidth 4 GB/s link torus(2, 3, 3) bandwidth 1 GB/s }"));
  ASSERT_TRUE(rules) << diags.render();
  const auto& links = rules->switches.at(0).links;
  ASSERT_EQ(links.size(), 4u);
  EXPECT_EQ(links[1].to, "npu.torus[1]");
  EXPECT_EQ(links[2].to, "npu.torus[3]");
  EXPECT_EQ(links[3].to, "npu.torus[9]");
  EXPECT_EQ(rules->switches.at(9).links.size(), 3u) << "of two planes the first has the link";
}

TEST_F(ClusterSema, ATreeGrowsUpToOneSwitch) {
  auto rules = build("rules 1" + npu("count 5 { link host bandwidth 4 GB/s "
                                     "link tree(2) bandwidth 100 GB/s latency 1 us }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(names_of(rules->switches), (std::vector<std::string>{"npu.tree1[0]", "npu.tree1[1]", "npu.tree1[2]",
                                                                 "npu.tree2[0]", "npu.tree2[1]", "npu.tree3[0]"}));
  EXPECT_EQ(hops(*rules, "npu[0]", "npu[1]"), "npu[0] npu.tree1[0] npu[1]");
  EXPECT_EQ(hops(*rules, "npu[0]", "npu[3]"), "npu[0] npu.tree1[0] npu.tree2[0] npu.tree1[1] npu[3]");
  EXPECT_EQ(ir::Topology(*rules).find("npu[0]", "npu[4]")->hops.size(), 6u);
}

TEST_F(ClusterSema, DevicesAreInNetworksOfTheirHost) {
  const std::string lab =
      "rules 1 cluster lab { host { devices npu 3 link host bandwidth 1 GB/s } host { devices npu 4 } "
      "host { devices npu 1 } }";
  auto rules = build(lab + npu("{ link host bandwidth 4 GB/s link ring bandwidth 100 GB/s link tree(2) bandwidth 1 "
                               "GB/s }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(hops(*rules, "npu[2]", "npu[0]"), "npu[2] npu.ring[2] npu.ring[0] npu[0]");
  EXPECT_EQ(hops(*rules, "npu[3]", "npu[6]"), "npu[3] npu.ring[3] npu.ring[6] npu[6]");
  EXPECT_EQ(hops(*rules, "npu[2]", "npu[3]"), "none");
  EXPECT_EQ(hops(*rules, "npu[7]", "host[2]"), "npu[7] host[2]");
  EXPECT_EQ(names_of(rules->switches),
            (std::vector<std::string>{"npu.ring[0]", "npu.ring[1]", "npu.ring[2]", "npu.ring[3]", "npu.ring[4]",
                                      "npu.ring[5]", "npu.ring[6]", "npu.tree1[0]", "npu.tree1[1]", "npu.tree2[0]",
                                      "npu.tree1[2]", "npu.tree1[3]", "npu.tree2[1]"}));
  EXPECT_FALSE(build(lab + npu("{ link host bandwidth 4 GB/s link torus(2, 2) bandwidth 1 GB/s }")));
  EXPECT_NE(diags.render().find("`torus(2, 2)` joins 4, and `npu` has 3 at `host`"), std::string::npos)
      << diags.render();
}

TEST_F(ClusterSema, HostsThatSayTheSameAreInOneNetwork) {
  auto rules = build(
      "rules 1 cluster lab { host { memory 1 GiB link ring bandwidth 10 GB/s } host count 3 { link ring bandwidth 10 "
      "GB/s } }");
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_TRUE(rules->cluster->host(0).links.empty());
  EXPECT_EQ(rules->switches.size(), 4u);
  EXPECT_EQ(hops(*rules, "host", "host[3]"), "host lab.ring[0] lab.ring[3] host[3]");
  EXPECT_EQ(hops(*rules, "host[3]", "host[1]"), "host[3] lab.ring[3] lab.ring[0] lab.ring[1] host[1]");
}

TEST_F(ClusterSema, WhatIsCalledRingIsMeantFirst) {
  auto rules =
      build("rules 1 switch ring { link host bandwidth 1 GB/s }" + npu("count 2 { link ring bandwidth 2 GB/s }"));
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(rules->switches.size(), 1u);
  EXPECT_EQ(hops(*rules, "npu[0]", "npu[1]"), "npu[0] ring npu[1]");
}

TEST_F(ClusterSema, ItsWordsAreNamesElsewhere) {
  auto rules = build(
      "rules 1 backend host { runtime host_jit rule cluster { match host = Relu(cluster) cost 1 us } } "
      "backend cluster { device cluster count 2 { link host bandwidth 1 GB/s } runtime sim } "
      "switch devices { link host bandwidth 1 GB/s link cluster bandwidth 1 GB/s }");
  ASSERT_TRUE(rules) << diags.render();
  EXPECT_EQ(rules->cluster, nullptr);
  EXPECT_EQ(rules->find("host")->instances(), (std::vector<std::string>{"host"}));
}

TEST_F(ClusterSema, AnErrorInAHostDoesNotHideTheNext) {
  EXPECT_FALSE(parse("rules 1\ncluster a {\n  host { memory = link lan = }\n  host { devices npu }\n}\nbackend { }"));
  EXPECT_EQ(diags.error_count(), 4u) << diags.render();
}

TEST_F(ClusterSema, ThereIsOneAtMost) {
  EXPECT_FALSE(build("rules 1 cluster a { host { } } cluster b { host { } }"));
  EXPECT_NE(diags.render().find("`b` is a second cluster"), std::string::npos) << diags.render();
}

}  // namespace
}  // namespace collage
