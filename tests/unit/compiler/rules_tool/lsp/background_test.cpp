// SPDX-License-Identifier: Apache-2.0
// Which jobs run beside the server, and when.
#include "compiler/rules_tool/lsp/background.h"

#include <gtest/gtest.h>

#include <future>

namespace collage::rules_tool::lsp {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kLong{60};

TEST(Background, TheNewestJobOfAFileRuns) {
  std::promise<int> first_done;
  std::promise<void> other_done;
  std::future<int> done = first_done.get_future();
  Background background(milliseconds(200));
  background.start("a", [&] { first_done.set_value(1); });
  background.start("b", [&] { other_done.set_value(); });
  background.start("a", [&] { first_done.set_value(2); });
  ASSERT_EQ(done.wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(done.get(), 2);
  EXPECT_EQ(other_done.get_future().wait_for(kLong), std::future_status::ready);
}

TEST(Background, WhatIsCanceledOrStillWaitsNeverRuns) {
  bool has_run = false;
  {
    Background background(milliseconds(0));
    std::promise<void> begun, may_end;
    background.start("a", [&] {
      begun.set_value();
      may_end.get_future().wait();
    });
    ASSERT_EQ(begun.get_future().wait_for(kLong), std::future_status::ready);
    background.start("b", [&] { has_run = true; });
    background.cancel("b");
    std::promise<void> last;
    background.start("c", [&] { last.set_value(); });
    may_end.set_value();
    EXPECT_EQ(last.get_future().wait_for(kLong), std::future_status::ready);
  }
  {
    Background background(kLong);
    background.start("a", [&] { has_run = true; });
  }
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace collage::rules_tool::lsp
