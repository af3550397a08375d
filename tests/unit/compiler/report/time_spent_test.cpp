// SPDX-License-Identifier: Apache-2.0
// The line that accounts for the time of a compilation.
#include "compiler/report/time_spent.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace collage::report {
namespace {

TEST(TimeSpent, TimesHaveTheUnitThatFits) {
  EXPECT_EQ(seconds_text(0.0352), "35.2 ms");
  EXPECT_EQ(seconds_text(0.9994), "999 ms");
  EXPECT_EQ(seconds_text(0.9997), "1 s");
  EXPECT_EQ(seconds_text(3.614), "3.61 s");
  EXPECT_EQ(seconds_text(111.2), "1 min 51 s");
}

TEST(TimeSpent, PartsAndTheRestMakeUpTheTotal) {
  const TimeSpent spent{100, {{"measuring", 11.6}, {"search", 80}, {"plan", 0.2}}, 22};
  EXPECT_EQ(to_string(spent), "1 min 40 s: measuring 11.6 s, search 1 min 20 s in 22 rounds, other 8.4 s");
  const nlohmann::ordered_json json = to_json(spent);
  EXPECT_EQ(json["total_s"], 100);
  EXPECT_EQ(json["plan_s"], 0.2);
  EXPECT_NEAR(json["other_s"].get<double>(), 8.2, 1e-9);
}

TEST(TimeSpent, OneRoundIsNotCounted) {
  EXPECT_EQ(to_string(TimeSpent{2, {{"search", 2}}, 1}), "2 s: search 2 s");
}

}  // namespace
}  // namespace collage::report
