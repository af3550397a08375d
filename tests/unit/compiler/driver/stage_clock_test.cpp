// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stage_clock.h"

#include <gtest/gtest.h>

namespace collage::driver {
namespace {

/// The lines of a clock, without their times.
std::vector<std::string> rows(const StageClock& clock) {
  std::vector<std::string> rows;
  const std::string text = clock.text();
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    const bool is_stage = line.starts_with("time        ") && line.ends_with(" ms");
    rows.push_back(is_stage ? line.substr(12, line.find(' ', 12) - 12) : "details: " + line);
    at = end + 1;
  }
  return rows;
}

TEST(StageClock, AStageReturnsItsResult) {
  StageClock clock;
  EXPECT_EQ(clock.time("match", [] { return 42; }), 42);
}

TEST(StageClock, StagesStandInTheOrderOfTheirBeginning) {
  StageClock clock;
  clock.time("build", [&] { clock.time("search", [] {}); });
  clock.time("write", [] {});
  EXPECT_EQ(rows(clock), (std::vector<std::string>{"build", "search", "write"}));
}

TEST(StageClock, DetailsFollowTheirStage) {
  StageClock clock;
  clock.time("passes", [] {});
  clock.add_details("  fold 3\n  fuse 4\n");
  clock.time("match", [] {});
  EXPECT_EQ(rows(clock), (std::vector<std::string>{"passes", "details:   fold 3", "details:   fuse 4", "match"}));
}

TEST(StageClock, ListenersAreToldBeforeTheStage) {
  std::vector<std::string> events;
  StageClock clock([&](const char* name) { events.emplace_back(name); });
  clock.time("match", [&] { events.emplace_back("runs"); });
  EXPECT_EQ(events, (std::vector<std::string>{"match", "runs"}));
}

TEST(StageClock, WithoutStagesThereIsNothingToSay) {
  EXPECT_EQ(StageClock().text(), "");
}

}  // namespace
}  // namespace collage::driver
