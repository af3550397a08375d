// SPDX-License-Identifier: Apache-2.0
// What is said where a plan takes longer than was predicted.
#include "compiler/report/verdict.h"

#include <gtest/gtest.h>

namespace collage::report {
namespace {

TEST(Verdict, NothingIsSaidOfALittle) {
  EXPECT_EQ(verdict_of({.measured = 1.2, .predicted = 1}), "");
  EXPECT_EQ(verdict_of({.measured = 0.1, .predicted = 1}), "");
  EXPECT_EQ(verdict_of({.measured = 1, .predicted = 0}), "");
}

TEST(Verdict, NamesTheReasonThatIsKnown) {
  PlanTimes times{.measured = 70.6e-3, .predicted = 23.56e-3};
  EXPECT_EQ(verdict_of(times), "3.0 times the 23.56 ms predicted: `collagec verify-costs` compares each partition");
  times.on_reference_kernels = 2;
  EXPECT_TRUE(verdict_of(times).ends_with(": 2 operators run on reference kernels"));
  times.timed = 60e-3;
  EXPECT_TRUE(verdict_of(times).ends_with("as a whole it was timed before, at 60 ms")) << verdict_of(times);
  times.has_estimates = true;
  EXPECT_TRUE(verdict_of(times).ends_with("`--costs=measured` measures them"));
  times.is_disturbed = true;
  EXPECT_TRUE(verdict_of(times).ends_with("the machine was busy; on a quiet one it takes less"));
}

TEST(Verdict, WhatTakesLessHasOtherReasons) {
  PlanTimes times{.measured = 10e-3, .predicted = 20e-3, .timed = 10e-3, .is_disturbed = true};
  times.on_reference_kernels = 2;
  EXPECT_EQ(reason_of(times),
            "its parts take more alone than one after the other; as a whole it was timed before, at 10 ms");
  times.timed.reset();
  EXPECT_EQ(reason_of(times), "`collagec verify-costs` compares each partition");
}

TEST(Verdict, ATimeOfTheWholeThatDiffersIsNoReason) {
  EXPECT_EQ(reason_of({.measured = 10e-3, .predicted = 1e-3, .timed = 50e-3}),
            "`collagec verify-costs` compares each partition");
}

}  // namespace
}  // namespace collage::report
