// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/report/timed_calls.h"

namespace collage::report {
namespace {

Profile small_profile() {
  Profile profile{.model = "m", .runs = 11};
  profile.rows = {{.kind = "onednn",
                   .what = "p0 %c convolution",
                   .seconds = 3e-3,
                   .partition = "p0",
                   .backend = "onednn",
                   .value = "c"},
                  {.kind = "npu[0]",
                   .what = "p1 %d Conv",
                   .seconds = 1e-3,
                   .partition = "p1",
                   .backend = "npu",
                   .value = "d",
                   .is_about = true,
                   .is_simulated = true},
                  {.kind = "convert", .what = "%x", .seconds = 1e-6, .value = "x"}};
  for (const ProfileRow& row : profile.rows) profile.seconds += row.seconds;
  return profile;
}

TEST(Profile, IsPrintedWithUnitsAndSaysWhatIsDivided) {
  const std::string text = print(small_profile(), 2);
  EXPECT_NE(text.find("4.001 ms in 3 kernels, copies and conversions\n"), std::string::npos) << text;
  EXPECT_NE(text.find("          3 ms  75.0 %  onednn     p0 %c convolution\n"), std::string::npos) << text;
  EXPECT_NE(text.find("about 1 ms  25.0 %  npu[0]     p1 %d Conv\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 us in 1 other\n"), std::string::npos) << text;
}

TEST(Profile, AsJsonLeavesOutWhatSaysNothing) {
  const auto rows = nlohmann::json::parse(to_json(small_profile()))["rows"];
  EXPECT_EQ(rows[0]["partition"], "p0");
  EXPECT_EQ(rows[0]["value"], "c");
  EXPECT_FALSE(rows[0].contains("about") || rows[0].contains("simulated") || rows[0].contains("host"));
  EXPECT_TRUE(rows[1]["about"].get<bool>() && rows[1]["simulated"].get<bool>());
  EXPECT_FALSE(rows[2].contains("partition"));
}

TEST(Profile, NamesTheModelsOfChips) {
  EXPECT_EQ(simulated_backends(small_profile()), std::vector<std::string>{"npu"});
}

TEST(TimedCalls, AreNamedByWhatTheyCompute) {
  runtime::Plan plan;
  plan.partitions.push_back({"p0", "host", "host", {"c", "r"}, {}});
  plan.buffers.resize(1);
  plan.buffers[0].name = "y";
  runtime::HostStep host{0, {}};
  host.calls.emplace_back(runtime::KernelCall{.symbol = "k0", .buffers = {}, .name = "%r Conv+Relu"});
  host.calls.emplace_back(runtime::KernelCall{.symbol = "k1", .buffers = {}});
  host.calls.emplace_back(runtime::OpCall{"Tanh", {}, {}, {0}});
  host.calls.emplace_back(runtime::LibraryCall{"openblas", {}, {}, {0}, {}});
  const std::vector<TimedCall> calls = calls_of(plan, host);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].what, "%r Conv+Relu");
  EXPECT_EQ(calls[0].value, "r");
  EXPECT_EQ(calls[1].what, "k1");
  EXPECT_EQ(calls[1].value, "");
  EXPECT_EQ(calls[2].kind, "reference");
  EXPECT_EQ(calls[2].what, "%y Tanh");
  EXPECT_EQ(calls[3].kind, "openblas");
  EXPECT_EQ(calls[3].what, "p0 (%c, …)");
  EXPECT_FALSE(calls[3].is_whole);
  const std::vector<TimedCall> whole = calls_of(plan, runtime::LibraryStep{0, {"onednn", {}, {}, {}, {}}});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_TRUE(whole[0].is_whole);
}

}  // namespace
}  // namespace collage::report
