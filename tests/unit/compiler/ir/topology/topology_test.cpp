// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/topology/topology.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <tuple>

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
  backend.switches = std::make_shared<const std::vector<SwitchDecl>>(std::move(switches));
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

TEST(Topology, NoCopyTakesLessThanTheLeast) {
  const SwitchDecl pcie{"pcie", {link_to("host", 16, 1)}, {}};
  const Backend npu = backend_of("npu", 2, {link_to("pcie", 8, 2)}, {pcie});
  const Backend dsp = backend_of("dsp", 1, {link_to("host", 1, 1)}, {pcie});
  // Over the switch: the two least latencies, and the widest link. The way from the host to an npu takes 4 us.
  EXPECT_EQ(Topology({&npu, &dsp}).least_copy(8000), Duration::picoseconds(3 * kMicrosecond + kMicrosecond / 2));
  // Directly from the host to the dsp.
  EXPECT_EQ(Topology({&npu, &dsp}).least_copy(0), Duration::picoseconds(kMicrosecond));
  const Backend alone = backend_of("lone", 2, {}, {});
  EXPECT_FALSE(Topology({&alone}).least_copy(8));
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

/// Two hosts that are alike and one of another kind, with these links each; two npus at each of the first two.
Backend at_cluster(std::vector<Link> of_hosts, std::vector<Link> of_devices, std::vector<SwitchDecl> switches) {
  Backend npu = backend_of("npu", 4, std::move(of_devices), std::move(switches));
  npu.devices[0].hosts = {0, 0, 1, 1};
  Cluster cluster;
  cluster.name = "lab";
  cluster.hosts.push_back({2, {}, {{"npu", 2, {}}}, of_hosts, {}});
  cluster.hosts.push_back({1, {}, {}, std::move(of_hosts), {}});
  npu.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return npu;
}

TEST(Topology, ASwitchWithAHostIsOneAtEachHost) {
  const SwitchDecl pcie{"pcie", {link_to("host", 16, 1)}, {}};
  const SwitchDecl inner{"inner", {link_to("pcie", 16, 1)}, {}};
  const SwitchDecl lan{"lan", {}, {}};
  const Backend npu = at_cluster({link_to("lan", 10, 5)}, {link_to("inner", 8, 2)}, {pcie, inner, lan});
  const Topology topology({&npu});
  EXPECT_EQ(way(topology, "host", "npu[1]"), "host pcie inner npu[1]");
  EXPECT_EQ(way(topology, "npu[2]", "host[1]"), "npu[2] inner[1] pcie[1] host[1]");
  EXPECT_EQ(way(topology, "npu[2]", "npu[3]"), "npu[2] inner[1] npu[3]");
  EXPECT_EQ(way(topology, "npu[1]", "npu[2]"), "none") << "several copies, over the memory of both hosts";
  EXPECT_EQ(way(topology, "host", "npu[2]"), "none");
  EXPECT_EQ(way(topology, "host", "host[1]"), "host lan host[1]");
  EXPECT_EQ(way(topology, "host[2]", "host[1]"), "host[2] lan host[1]");
  EXPECT_EQ(topology.find("host", "host[1]")->latency.ps(), 10 * kMicrosecond);
  EXPECT_TRUE(topology.reaches_host("npu[3]"));
  EXPECT_TRUE(topology.reaches_host("host[2]"));
  EXPECT_EQ(topology.ports_of("inner"), 3u);
  EXPECT_EQ(topology.ports_of("lan"), 3u);
}

TEST(Topology, HostIsTheOneAtWhichADeviceStands) {
  const Backend npu = at_cluster({link_to("host", 10, 5)}, {link_to("host", 4, 8), link_to("npu", 12, 1)}, {});
  const Topology topology({&npu});
  EXPECT_EQ(way(topology, "npu[1]", "host"), "npu[1] host");
  EXPECT_EQ(way(topology, "npu[2]", "host[1]"), "npu[2] host[1]");
  EXPECT_EQ(way(topology, "npu[2]", "host"), "none");
  EXPECT_EQ(way(topology, "npu[0]", "npu[1]"), "npu[0] npu[1]");
  EXPECT_EQ(way(topology, "npu[1]", "npu[2]"), "none");
  EXPECT_EQ(way(topology, "host[1]", "host[2]"), "host[1] host[2]");
  EXPECT_EQ(way(topology, "host", "host[0]"), "none") << "one spelling of a host";
}

TEST(Topology, ASwitchWithoutAHostJoinsDevicesOfSeveral) {
  const SwitchDecl fabric{"fabric", {}, {}};
  const Backend npu = at_cluster({}, {link_to("host", 4, 8), link_to("fabric", 100, 1)}, {fabric});
  const Topology topology({&npu});
  EXPECT_EQ(way(topology, "npu[0]", "npu[3]"), "npu[0] fabric npu[3]");
  EXPECT_EQ(topology.find_copy("npu[0]", "npu[3]"), nullptr) << "they stand at two hosts";
  EXPECT_EQ(topology.find_copy("npu[2]", "npu[3]"), topology.find("npu[2]", "npu[3]"));
  EXPECT_EQ(way(topology, "host", "host[1]"), "none");
  EXPECT_TRUE(topology.reaches_host("npu[1]"));
  EXPECT_FALSE(topology.reaches_host("host[1]")) << "no copy is from a device to what stands elsewhere";
}

TEST(Topology, ASwitchThatHostsNameIsOneForAll) {
  const SwitchDecl rack{"rack", {link_to("host", 10, 1)}, {}};
  const Backend npu = at_cluster({link_to("rack", 20, 1)}, {link_to("rack", 8, 1)}, {rack});
  const Topology topology({&npu});
  EXPECT_EQ(way(topology, "host", "npu[3]"), "host rack npu[3]");
  EXPECT_EQ(topology.find_copy("host", "npu[3]"), nullptr) << "it stands at another one";
  EXPECT_EQ(way(topology, "host", "host[1]"), "host rack host[1]");
  EXPECT_EQ(topology.find_copy("host", "host[1]"), topology.find("host", "host[1]"));
  EXPECT_EQ(topology.find("host", "host[1]")->bytes_per_second, 20e9) << "the faster of the two that join them";
}

/// 32 times 32 switches in rings both ways, with an npu at each.
Backend torus_of_1024() {
  constexpr int kSide = 32;
  std::vector<SwitchDecl> routers;
  const auto name = [](int row, int column) { return "r" + std::to_string(row % kSide * kSide + column % kSide); };
  for (int i = 0; i < kSide * kSide; ++i) {
    const int row = i / kSide, column = i % kSide;
    routers.push_back({name(row, column),
                       {link_to("npu[" + std::to_string(i) + "]", 100, 0), link_to(name(row + 1, column), 100, 1),
                        link_to(name(row, column + 1), 100, 1)},
                       {}});
  }
  return backend_of("npu", kSide * kSide, {link_to("host", 16, 2)}, std::move(routers));
}

TEST(Topology, WaysOverATorusAreTheShortest) {
  const Backend npu = torus_of_1024();
  const Topology topology({&npu});
  EXPECT_EQ(way(topology, "npu[0]", "npu[1023]"), "npu[0] r0 r31 r1023 npu[1023]");
  EXPECT_EQ(way(topology, "npu[1023]", "npu[0]"), "npu[1023] r1023 r31 r0 npu[0]") << "the same way back";
  const Route* far = topology.find("npu[0]", "npu[528]");
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->hops.size(), 34u) << "sixteen rows, sixteen columns and two ports";
  EXPECT_EQ(far->latency.ps(), 32 * kMicrosecond);
  EXPECT_EQ(topology.find("npu[0]", "npu[528]"), far) << "found once";
}

TEST(Topology, ThreadsMayAskAtOnce) {
  const Backend npu = torus_of_1024();
  const Topology topology({&npu});
  const auto ask = [&topology](std::vector<std::string>* ways) {
    for (int from = 0; from < 12; ++from) {
      for (int to = 0; to < 1024; to += 37) {
        const std::string start = "npu[" + std::to_string(from) + "]";
        ways->push_back(way(topology, start, "npu[" + std::to_string(to) + "]"));
      }
    }
  };
  std::vector<std::vector<std::string>> ways(4);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& own : ways) threads.emplace_back(ask, &own);
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> alone;
  const Topology other({&npu});
  for (int from = 0; from < 12; ++from) {
    for (int to = 0; to < 1024; to += 37) {
      const std::string start = "npu[" + std::to_string(from) + "]";
      alone.push_back(way(other, start, "npu[" + std::to_string(to) + "]"));
    }
  }
  for (const std::vector<std::string>& own : ways) EXPECT_EQ(own, alone);
}

/// Width, latency and number of links of the best way, found by following every one.
struct Best {
  double width = 0;
  int64_t latency = 0;
  int links = 0;

  bool is_better_than(const Best& other) const {
    return std::tuple(-width, latency, links) < std::tuple(-other.width, other.latency, other.links);
  }
};

class EveryWay {
 public:
  explicit EveryWay(const std::map<std::string, std::vector<Link>>& declared) {
    for (const auto& [owner, links] : declared) {
      for (const Link& link : links) {
        join(owner, link.to, link);
        join(link.to, owner, link);
      }
    }
  }

  Best best(const std::string& from, const std::string& to) {
    best_ = {};
    seen_ = {from};
    follow(from, to, {std::numeric_limits<double>::infinity(), 0, 0});
    return best_;
  }

 private:
  void join(const std::string& a, const std::string& b, const Link& link) {
    const auto [known, is_new] = links_[a].emplace(b, link);
    const bool is_better = std::tuple(-link.bytes_per_second, link.latency) <
                           std::tuple(-known->second.bytes_per_second, known->second.latency);
    if (!is_new && is_better) known->second = link;
  }

  void follow(const std::string& at, const std::string& to, const Best& so_far) {
    for (const auto& [next, link] : links_[at]) {
      if (seen_.contains(next)) continue;
      const Best here{std::min(so_far.width, link.bytes_per_second), so_far.latency + link.latency.ps(),
                      so_far.links + 1};
      if (next == to) {
        if (best_.width == 0 || here.is_better_than(best_)) best_ = here;
      } else if (next.starts_with("s")) {
        seen_.insert(next);
        follow(next, to, here);
        seen_.erase(next);
      }
    }
  }

  std::map<std::string, std::map<std::string, Link>> links_;
  std::set<std::string> seen_;
  Best best_;
};

TEST(Topology, NoWayIsBetterThanTheOneFound) {
  std::mt19937 random(11);
  const auto pick = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  constexpr int kSwitches = 6, kDevices = 4;
  for (int round = 0; round < 100; ++round) {
    std::map<std::string, std::vector<Link>> declared;
    const auto some_links = [&](const std::string& owner) {
      std::map<std::string, Link> links;
      for (int i = pick(4); i > 0; --i) {
        const int kind = pick(kSwitches + 2);
        const std::string to = kind < kSwitches ? "s" + std::to_string(kind) : kind == kSwitches ? "host" : "d0";
        if (to != owner) links.emplace(to, link_to(to, 1 << pick(3), pick(4)));
      }
      for (const auto& [to, link] : links) declared[owner].push_back(link);
      return declared[owner];
    };
    std::vector<SwitchDecl> switches;
    for (int i = 0; i < kSwitches; ++i) {
      const std::string name = "s" + std::to_string(i);
      switches.push_back({name, some_links(name), {}});
    }
    std::vector<Backend> backends;
    for (int i = 0; i < kDevices; ++i) {
      const std::string name = "d" + std::to_string(i);
      backends.push_back(backend_of(name, 1, some_links(name), switches));
    }
    std::vector<const Backend*> all;
    std::vector<std::string> spaces = {"host"};
    for (const Backend& backend : backends) {
      all.push_back(&backend);
      spaces.push_back(backend.name + "[0]");
    }
    const Topology topology(all);
    EveryWay every(declared);
    const auto declared_name = [](const std::string& space) { return space.substr(0, space.find('[')); };
    for (const std::string& from : spaces) {
      for (const std::string& to : spaces) {
        if (from == to) continue;
        const Best best = every.best(declared_name(from), declared_name(to));
        const Route* route = topology.find(from, to);
        ASSERT_EQ(route != nullptr, best.width > 0) << round << ' ' << from << ' ' << to;
        if (route == nullptr) continue;
        EXPECT_EQ(route->bytes_per_second, best.width) << round << ' ' << from << ' ' << to;
        EXPECT_EQ(route->latency.ps(), best.latency) << round << ' ' << from << ' ' << to;
        EXPECT_EQ(static_cast<int>(route->hops.size()), best.links) << round << ' ' << from << ' ' << to;
      }
    }
  }
}

}  // namespace
}  // namespace collage::ir
