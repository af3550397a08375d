// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/steps_text.h"

#include <gtest/gtest.h>

namespace collage::tools {
namespace {

TEST(StepsText, SaysWhatIsLeft) {
  EXPECT_EQ(steps_text(0, 25, 0.2), "[..........] 0 of 25");
  EXPECT_EQ(steps_text(12, 25, 5.9), "[####......] 12 of 25, 6 s left");
  EXPECT_EQ(steps_text(25, 25, 12), "[##########] 25 of 25");
}

TEST(StepsText, WorkMayComeToMoreSteps) {
  EXPECT_EQ(steps_text(27, 25, 12), "[##########] 27 of 25");
  EXPECT_EQ(steps_text(3, 0, 12), "[..........] 3 of 0");
}

}  // namespace
}  // namespace collage::tools
