// SPDX-License-Identifier: Apache-2.0
// Sums over the stages of a model.
#include "compiler/report/compare/staged_comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace collage::report {
namespace {

using runtime::Duration;

constexpr int64_t kMicrosecond = 1'000'000;

CompareRow compare_row(const std::string& strategy, int64_t microseconds) {
  CompareRow made{strategy, search::FoundPlacement(), "", {}, std::nullopt};
  made.found->predicted = place::Cost::time(Duration::picoseconds(microseconds * kMicrosecond));
  return made;
}

StageComparison compared_stage(size_t number, size_t runs, std::vector<CompareRow> rows) {
  StageComparison made{number, "main", "x f32[2]", runs, {}};
  made.comparison.rows = std::move(rows);
  return made;
}

TEST(StagedComparison, RunsOfStagesAddUp) {
  const std::vector<StrategyTotal> totals =
      totals_of({compared_stage(1, 1, {compare_row("optimal", 10), compare_row("greedy", 20)}),
                 compared_stage(3, 4, {compare_row("greedy", 5), compare_row("optimal", 2)})});
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[0].strategy, "optimal");
  EXPECT_EQ(totals[0].predicted, place::Cost::time(Duration::picoseconds(18 * kMicrosecond)));
  EXPECT_EQ(totals[1].predicted, place::Cost::time(Duration::picoseconds(40 * kMicrosecond)));
  EXPECT_FALSE(totals[0].measured);
}

TEST(StagedComparison, AStageWithoutAPlacementLeavesNoSum) {
  CompareRow none{"tvm", std::nullopt, "it takes too long", {}, std::nullopt};
  const std::vector<StageComparison> stages = {
      compared_stage(1, 1, {compare_row("optimal", 10), compare_row("tvm", 9), compare_row("eager", 9)}),
      compared_stage(2, 2, {compare_row("optimal", 10), none})};
  const std::vector<StrategyTotal> totals = totals_of(stages);
  ASSERT_EQ(totals.size(), 3U);
  EXPECT_TRUE(totals[0].predicted);
  EXPECT_FALSE(totals[1].predicted);
  EXPECT_EQ(totals[1].failure, "stage 2: it takes too long");
  EXPECT_EQ(totals[2].failure, "stage 2: it is not compared there");
  const nlohmann::ordered_json json = to_json(stages);
  EXPECT_EQ(json["total"][1]["failure"], "stage 2: it takes too long");
  EXPECT_NE(print(stages).find("stage 2     main, run 2 times, for x f32[2]\n"), std::string::npos) << print(stages);
}

TEST(StagedComparison, TimesAddUpWhereEveryStageWasMeasured) {
  CompareRow first = compare_row("optimal", 10), second = compare_row("optimal", 10);
  first.measured = Measured{0.001, 0.001, 0};
  EXPECT_FALSE(totals_of({compared_stage(1, 1, {first}), compared_stage(2, 3, {second})})[0].measured);
  second.measured = Measured{0.002, 0.002, 0};
  const std::optional<double> sum =
      totals_of({compared_stage(1, 1, {first}), compared_stage(2, 3, {second})})[0].measured;
  ASSERT_TRUE(sum);
  EXPECT_DOUBLE_EQ(*sum, 0.007);
}

TEST(StagedComparison, NothingPlacedHasNoTotals) {
  EXPECT_TRUE(totals_of({}).empty());
  EXPECT_EQ(print(std::vector<StageComparison>()), "");
}

}  // namespace
}  // namespace collage::report
