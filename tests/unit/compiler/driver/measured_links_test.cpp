// SPDX-License-Identifier: Apache-2.0
// Measured figures in the rule file of a cluster.
#include "compiler/driver/measured_links.h"

#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage::driver {
namespace {

class MeasuredLinks : public RulesFixture {
 protected:
  /// Ranks, seconds, bytes per second: host[2] is far away.
  std::vector<runtime::PairFigures> pairs_ = {{0, 1, 8e-6, 8e9}, {0, 2, 11e-6, 7e9}, {1, 2, 12e-6, 6e9}};

  /// The text with the figures, or the errors.
  std::string measured(const std::string& text) {
    const auto rules = build(text);
    if (!rules) return diags.render();
    const auto made = with_measured_links(*rules, pairs_, sources, "lab", diags);
    return made ? made->text : diags.render();
  }
};

TEST_F(MeasuredLinks, OverASwitchEachLinkHasHalfOfTheTime) {
  EXPECT_EQ(measured("rules 1 switch lan {} cluster lab {\n"
                     "  host { link lan bandwidth 10 GB/s latency 1 us duplex }  // the first\n"
                     "  host { memory 1 GiB link lan bandwidth 10 GB/s devices npu 1 }\n"
                     "  host { link lan bandwidth 10 GB/s }\n"
                     "} backend npu { device npu { link host bandwidth 4 GB/s } runtime sim }"),
            "rules 1 switch lan {} cluster lab {\n"
            "  host { link lan bandwidth 7 GB/s latency 5.5 us duplex }  // the first\n"
            "  host { memory 1 GiB link lan bandwidth 6 GB/s latency 6 us devices npu 1 }\n"
            "  host { link lan bandwidth 6 GB/s latency 6 us }\n"
            "} backend npu { device npu { link host bandwidth 4 GB/s } runtime sim }");
}

TEST_F(MeasuredLinks, ALinkToAllHostsHasTheFiguresOfTheSlowest) {
  EXPECT_EQ(
      measured("rules 1 cluster lab { host count 3 { link host bandwidth 10 GB/s } } backend cpu { runtime host_jit }"),
      "rules 1 cluster lab { host count 3 { link host bandwidth 6 GB/s latency 12 us } } backend cpu { runtime "
      "host_jit }");
}

TEST_F(MeasuredLinks, WithoutLinksBetweenHostsIsAnError) {
  pairs_.clear();
  EXPECT_EQ(
      measured("rules 1 cluster lab { host count 2 { link host bandwidth 10 GB/s } } backend cpu { runtime host_jit }"),
      "lab: error: one host has no links to measure [CG0502]\n");
}

}  // namespace
}  // namespace collage::driver
