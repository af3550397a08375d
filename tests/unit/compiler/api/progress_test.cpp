// SPDX-License-Identifier: Apache-2.0
// Progress of steps of the C interface, and steps that are stopped.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "include/collage/collage.hpp"

namespace {

constexpr const char* kWatchedModel = "examples/digits/digits.ir";

class Steps : public ::testing::Test {
 protected:
  void SetUp() override {
    compiler_.rules("rules/host.rules").set("costs", "estimate").set("cache", "");  // several kernels to compile
  }

  template <typename Step>
  std::string failure_of(const Step& step) {
    try {
      step();
    } catch (const collage::Error& error) {
      return error.what();
    }
    return "none";
  }

  collage::Compiler compiler_;
};

TEST_F(Steps, TellWhatTheyAreAt) {
  std::set<std::string> seen;
  compiler_.listen([&](const collage_progress& progress) { seen.insert(progress.work); });
  const collage::Placement placement = compiler_.load(kWatchedModel).place();
  EXPECT_EQ(seen, std::set<std::string>{"searching"});
  placement.build();
  EXPECT_EQ(seen, (std::set<std::string>{"searching", "compiling"}));
  seen.clear();
  compiler_.listen(nullptr);
  placement.build();
  EXPECT_TRUE(seen.empty());
}

TEST_F(Steps, AStopEndsTheOneAtWork) {
  const collage::Model model = compiler_.load(kWatchedModel);
  compiler_.listen([&](const collage_progress&) { compiler_.stop(); });
  EXPECT_NE(failure_of([&] { model.place(); }).find("collage: error: stopped before it was done [CG0510]"),
            std::string::npos);
  compiler_.listen(nullptr);
  const collage::Placement placement = model.place();
  compiler_.listen([&](const collage_progress&) { compiler_.stop(); });
  EXPECT_NE(failure_of([&] { placement.build(); }).find("stopped before it was done"), std::string::npos);
  compiler_.listen(nullptr);
  EXPECT_EQ(failure_of([&] { placement.build(); }), "none");
}

TEST_F(Steps, AStopEndsTheNextOneWhereNoneIsAtWork) {
  compiler_.stop();
  EXPECT_NE(failure_of([&] { compiler_.load(kWatchedModel); }).find("stopped before it was done"), std::string::npos);
  EXPECT_EQ(failure_of([&] { compiler_.load(kWatchedModel); }), "none");
  compiler_.stop();
  compiler_.stop(false);
  EXPECT_EQ(failure_of([&] { compiler_.load(kWatchedModel).place().measure(); }), "none");
  collage_compiler_stop(nullptr, 1);
  EXPECT_NE(collage_compiler_listen(nullptr, nullptr, nullptr), 0);
  EXPECT_NE(collage_placement_measure(nullptr), 0);
}

}  // namespace
