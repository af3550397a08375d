// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/memory_caps.h"

#include <gtest/gtest.h>

namespace collage::request {
namespace {

plan::PlanTargets targets_with_hosts() {
  plan::PlanTargets targets;
  for (const char* space : {"npu[0]", "npu[1]"}) targets.devices.emplace_back().spec.space = space;
  for (const char* space : {"host", "host[1]"}) targets.hosts.emplace_back().spec.space = space;
  return targets;
}

/// Capacities of npu[0], npu[1], host, host[1] with these options.
std::vector<size_t> capped(const std::vector<std::string>& options) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  plan::PlanTargets targets = targets_with_hosts();
  const auto caps = read_memory_caps(options, targets, diags);
  EXPECT_TRUE(caps) << diags.render();
  if (!caps) return {};
  apply_memory_caps(*caps, targets);
  std::vector<size_t> capacities;
  for (const auto* memories : {&targets.devices, &targets.hosts}) {
    for (const plan::DeviceTarget& memory : *memories) capacities.push_back(memory.capacity);
  }
  return capacities;
}

TEST(MemoryCaps, HostsOfAClusterHaveThemToo) {
  using Capacities = std::vector<size_t>;
  EXPECT_EQ(capped({"npu=2KiB"}), (Capacities{2048, 2048, 0, 0}));
  EXPECT_EQ(capped({"npu[1]=2KiB"}), (Capacities{0, 2048, 0, 0}));
  EXPECT_EQ(capped({"host[1]=2KiB"}), (Capacities{0, 0, 0, 2048}));
  EXPECT_EQ(capped({"host[0]=2KiB"}), (Capacities{0, 0, 2048, 0}));
  EXPECT_EQ(capped({"host=2KiB", "host[1]=1KiB"}), (Capacities{0, 0, 2048, 1024}));
}

TEST(MemoryCaps, TheOnlyHostHasNone) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  plan::PlanTargets targets = targets_with_hosts();
  targets.hosts.clear();
  EXPECT_FALSE(read_memory_caps({"host=1KiB"}, targets, diags));
}

}  // namespace
}  // namespace collage::request
