// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/topology.h"

#include <gtest/gtest.h>

namespace collage::ir {
namespace {

constexpr int64_t kMicrosecond = 1'000'000;  // in picoseconds

Link link_to(const std::string& to, double gigabytes, int64_t microseconds, std::optional<double> energy = 1e-12) {
  return {to, gigabytes * 1e9, Duration::picoseconds(microseconds * kMicrosecond), false, energy, {}};
}

Backend backend_of(const std::string& device, int count, std::vector<Link> links, std::vector<SwitchDecl> switches) {
  Backend backend;
  backend.name = device;
  backend.devices.push_back({device, count, {}, {}, std::move(links), {}, {}});
  backend.switches = std::move(switches);
  return backend;
}

std::string way(const Topology& topology, const std::string& from, const std::string& to) {
  const Route* route = topology.find(from, to);
  if (route == nullptr) return "none";
  std::string text = route->hops.front().from;
  for (const runtime::LinkHop& hop : route->hops) text += " " + hop.to;
  return text;
}

TEST(Topology, CopiesPassSwitchesAndNoMemory) {
  const SwitchDecl pcie{"pcie", {link_to("host", 16, 1)}, {}};
  const Backend npu = backend_of("npu", 2, {link_to("pcie", 8, 2)}, {pcie});
  const Backend dsp = backend_of("dsp", 1, {link_to("host", 1, 1)}, {pcie});
  const Topology topology({&npu, &dsp});
  EXPECT_EQ(way(topology, "host", "npu[1]"), "host pcie npu[1]");
  EXPECT_EQ(way(topology, "npu[1]", "host"), "npu[1] pcie host");
  EXPECT_EQ(way(topology, "npu[0]", "npu[1]"), "npu[0] pcie npu[1]");
  EXPECT_EQ(way(topology, "dsp[0]", "host"), "dsp[0] host");
  EXPECT_EQ(way(topology, "dsp[0]", "npu[0]"), "none") << "two copies, over the memory of the host";
  EXPECT_EQ(way(topology, "npu[0]", "npu[0]"), "none");
  EXPECT_EQ(way(topology, "pcie", "host"), "none") << "a switch holds nothing";
  EXPECT_EQ(way(topology, "npu[2]", "host"), "none");
  // 3 us, and 8 kB at the speed of the slower link.
  EXPECT_EQ(topology.find("host", "npu[0]")->time_of(8000).ps(), 4 * kMicrosecond);
  EXPECT_EQ(topology.find("npu[0]", "npu[1]")->time_of(8000).ps(), 5 * kMicrosecond);
  EXPECT_DOUBLE_EQ(*topology.find("host", "npu[0]")->joules_per_byte, 2e-12);
}

TEST(Topology, TheWidestWayCountsThenTheFastest) {
  const std::vector<SwitchDecl> switches = {{"narrow", {link_to("host", 4, 0)}, {}},
                                            {"slow", {link_to("host", 16, 9)}, {}},
                                            {"inner", {link_to("slow", 16, 1)}, {}}};
  const Backend npu =
      backend_of("npu", 1, {link_to("narrow", 16, 0), link_to("slow", 16, 9), link_to("inner", 16, 1)}, switches);
  EXPECT_EQ(way(Topology({&npu}), "npu[0]", "host"), "npu[0] inner slow host") << "11 us, not 18 us; and not narrow";
  const Backend wide = backend_of("npu", 1, {link_to("host", 16, 11), link_to("inner", 16, 1)}, switches);
  EXPECT_EQ(way(Topology({&wide}), "npu[0]", "host"), "npu[0] host") << "as fast, over fewer links";
}

TEST(Topology, EitherEndDeclaresALinkAndTheFasterCounts) {
  Link slow = link_to("dsp", 1, 1);
  slow.duplex = true;
  const Backend npu = backend_of("npu", 2, {slow, link_to("npu", 2, 1)}, {});
  const Backend dsp = backend_of("dsp", 1, {link_to("npu", 3, 1), link_to("nobody", 9, 1)}, {});
  const Topology topology({&npu, &dsp});
  EXPECT_EQ(topology.find("npu[1]", "dsp[0]")->bytes_per_second, 3e9);
  EXPECT_EQ(topology.find("dsp[0]", "npu[1]")->bytes_per_second, 3e9);
  EXPECT_FALSE(topology.find("dsp[0]", "npu[1]")->hops.front().duplex);
  EXPECT_EQ(way(topology, "npu[0]", "npu[1]"), "npu[0] npu[1]");
  EXPECT_EQ(way(topology, "npu[0]", "host"), "none");
}

TEST(Topology, SwitchesMayFormACircle) {
  const std::vector<SwitchDecl> ring = {{"a", {link_to("b", 8, 1), link_to("host", 8, 1)}, {}},
                                        {"b", {link_to("c", 8, 1)}, {}},
                                        {"c", {link_to("a", 8, 1)}, {}}};
  const Backend left = backend_of("left", 1, {link_to("b", 8, 1)}, ring);
  const Backend right = backend_of("right", 1, {link_to("c", 8, 1)}, ring);
  const Topology topology({&left, &right});
  EXPECT_EQ(way(topology, "left[0]", "host"), "left[0] b a host");
  EXPECT_EQ(way(topology, "right[0]", "host"), "right[0] c a host");
  EXPECT_EQ(way(topology, "left[0]", "right[0]"), "left[0] b c right[0]");
}

TEST(Topology, AWayHasAnEnergyIfAllItsLinksHave) {
  const Backend npu =
      backend_of("npu", 1, {link_to("pcie", 8, 2, std::nullopt)}, {{"pcie", {link_to("host", 16, 1)}, {}}});
  EXPECT_FALSE(Topology({&npu}).find("host", "npu[0]")->joules_per_byte);
}

}  // namespace
}  // namespace collage::ir
