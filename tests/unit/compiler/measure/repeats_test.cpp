// SPDX-License-Identifier: Apache-2.0
// What is measured once more, and when repeats stop.
#include "compiler/measure/repeats.h"

#include <gtest/gtest.h>

namespace collage::measure {
namespace {

Measurement cost(int64_t picoseconds, const std::string& disturbance = "") {
  Measurement made;
  made.cost = Duration::picoseconds(picoseconds);
  made.runs = 1;
  made.disturbance = disturbance;
  return made;
}

TEST(SecondTry, IsAfterAFailureThatDoesNotLast) {
  for (const bool lasts : {false, true}) {
    int tries = 0;
    const Measurement measured = with_second_try([&] {
      ++tries;
      if (tries == 2) return cost(7);
      return lasts ? failed_measurement("rank 7") : passing_failure("rank 7");
    });
    EXPECT_EQ(tries, lasts ? 1 : 2);
    EXPECT_EQ(measured.failed(), lasts);
  }
}

TEST(Repeats, WhatSaysMoreCounts) {
  Repeats repeats;
  Measurement twice = cost(9, "noise");
  twice.repeated = true;
  EXPECT_EQ(repeats.better_of(cost(9, "noise"), [] { return cost(8); }), cost(8));
  EXPECT_EQ(repeats.better_of(cost(9, "noise"), [] { return cost(10, "noise"); }), twice);
  EXPECT_EQ(repeats.better_of(cost(10, "noise"), [] { return cost(9, "noise"); }), twice);
  EXPECT_EQ(repeats.better_of(cost(9, "noise"), [] { return failed_measurement("rank 7"); }), cost(9, "noise"));
}

TEST(Repeats, WhatIsNotDisturbedIsNotRepeated) {
  Repeats repeats;
  const auto again = []() -> Measurement {
    ADD_FAILURE();
    return {};
  };
  EXPECT_EQ(repeats.better_of(cost(9), again), cost(9));
  EXPECT_TRUE(repeats.better_of(failed_measurement("rank 7"), again).failed());
}

TEST(Repeats, StopOnABusyMachineUntilItIsQuiet) {
  Repeats repeats;
  int repeated = 0;
  const auto again = [&] {
    ++repeated;
    return cost(9, "noise");
  };
  for (int i = 0; i < 10; ++i) repeats.better_of(cost(9, "noise"), again);
  EXPECT_EQ(repeated, 3);
  EXPECT_TRUE(repeats.have_stopped());
  repeats.better_of(cost(9), again);
  EXPECT_FALSE(repeats.have_stopped());
  repeats.better_of(cost(9, "noise"), again);
  EXPECT_EQ(repeated, 4);
}

TEST(Failure, ThatPassesDoesNotLastWhateverItsReason) {
  EXPECT_TRUE(failed_measurement("rank 7").lasting);
  const Measurement passing = passing_failure("rank 7");
  EXPECT_TRUE(passing.failed());
  EXPECT_FALSE(passing.lasting);
  EXPECT_EQ(passing.failure, "rank 7");
}

}  // namespace
}  // namespace collage::measure
