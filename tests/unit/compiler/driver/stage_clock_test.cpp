// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stage_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

/// Seconds of a part.
double part_of(const report::TimeSpent& spent, std::string_view name) {
  for (const auto& [part, seconds] : spent.parts) {
    if (part == name) return seconds;
  }
  ADD_FAILURE() << name;
  return 0;
}

void pass_milliseconds(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

TEST(StageClock, WorkCountsForWhatItIsInWhicheverStage) {
  StageClock clock;
  std::vector<std::string> events;
  runner::WorkListener told;
  told.begin = [&](runner::Work) { events.emplace_back("begin"); };
  told.end = [&] { events.emplace_back("end"); };
  const runner::WorkListener listener = clock.counting(told);
  clock.time("candidates", [&] {
    for (const runner::Work work : {runner::Work::Searching, runner::Work::Measuring, runner::Work::Searching}) {
      const runner::WorkScope scope(listener, work);
      pass_milliseconds(20);
    }
    pass_milliseconds(20);
  });
  clock.time("search", [&] {
    const runner::WorkScope scope(listener, runner::Work::Searching);
    pass_milliseconds(20);
  });
  const report::TimeSpent spent = clock.spent();
  EXPECT_GE(part_of(spent, "measuring"), 0.02);
  EXPECT_GE(part_of(spent, "search"), 0.06);
  EXPECT_GE(part_of(spent, "candidates"), 0.02);
  EXPECT_EQ(spent.rounds, 3u) << "two while costs were measured";
  double sum = 0;
  for (const auto& [part, seconds] : spent.parts) sum += seconds;
  EXPECT_LE(sum, spent.total);
  EXPECT_EQ(events.size(), 8u) << "the listener is told as well";
}

TEST(StageClock, ACompilationHasItsOwnTime) {
  StageClock clock;
  const runner::WorkListener listener = clock.counting({});
  const auto search = [&] {
    const runner::WorkScope scope(listener, runner::Work::Searching);
    pass_milliseconds(20);
  };
  clock.time("candidates", search);
  clock.begin_compilation();
  EXPECT_EQ(part_of(clock.spent(), "search"), 0);
  EXPECT_EQ(clock.spent().rounds, 1u);
  clock.time("candidates", search);
  EXPECT_EQ(clock.spent().rounds, 2u);
}

TEST(StageClock, WithoutStagesThereIsNothingToSay) {
  EXPECT_EQ(StageClock().text(), "");
}

}  // namespace
}  // namespace collage::driver
