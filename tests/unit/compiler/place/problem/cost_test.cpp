// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/cost.h"

#include <gtest/gtest.h>

#include <limits>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/bound/prove.h"
#include "compiler/place/exact/optimal_search.h"
#include "runtime/support/check.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

using runtime::Duration;

TEST(Cost, TextsEndInTheUnit) {
  EXPECT_EQ(to_string(Cost::time(Duration::picoseconds(41'000'000))), "41us");
  EXPECT_EQ(to_string(Cost::joules(8.192e-6)), "8.192uJ");
  EXPECT_EQ(to_string(Cost::of(250, Cost::Unit::Joules)), "250pJ");
  EXPECT_EQ(human(Cost::time(Duration::seconds(12.84e-3))), "12.84 ms");
  EXPECT_EQ(human(Cost::joules(4.1e-6)), "4.1 uJ");
  EXPECT_EQ(unit_name(Cost::joules(1)), "J");
  EXPECT_EQ(unit_name(Cost::time(Duration::seconds(1))), "s");
}

TEST(Cost, NothingAndMaxHaveNoUnit) {
  EXPECT_EQ(Cost().unit(), Cost::Unit::None);
  EXPECT_EQ(Cost::max().unit(), Cost::Unit::None);
  EXPECT_EQ(unit_name(Cost()), "s");
  EXPECT_EQ(Cost(), Cost::of(0, Cost::Unit::Joules));
}

TEST(Cost, SumsKeepTheUnit) {
  Cost total;
  total += Cost::of(3, Cost::Unit::Joules);
  EXPECT_EQ(total.unit(), Cost::Unit::Joules);
  EXPECT_EQ((total - Cost::of(5, Cost::Unit::Joules)).count(), -2);
  EXPECT_EQ((Cost() - total).unit(), Cost::Unit::Joules);
  EXPECT_EQ((total + Cost()).unit(), Cost::Unit::Joules);
  EXPECT_LT(total, Cost::max());
}

TEST(Cost, Saturates) {
  EXPECT_EQ(Cost::joules(1e300), Cost::max());
  EXPECT_EQ(Cost::joules(std::numeric_limits<double>::quiet_NaN()), Cost::max());
  EXPECT_EQ(Cost::time(Duration::max() + Duration::max()), Cost::max());
}

TEST(Cost, PercentsHaveNoExponent) {
  EXPECT_EQ(percent_text(0.016), "1.6 %");
  EXPECT_EQ(percent_text(0.00037), "0.037 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(0.0996), "10 %");
  EXPECT_EQ(percent_text(0.164), "16 %");
  EXPECT_EQ(percent_text(0.9999), "100 %");
  EXPECT_EQ(percent_text(1.6), "160 %");
  EXPECT_EQ(percent_text(123.4), "12340 %");
  EXPECT_EQ(percent_text(-1.6), "-160 %");
  EXPECT_EQ(percent_text(0.123456, 4), "12.35 %");
  EXPECT_EQ(percent_text(9.99996, 4), "1000 %");
  EXPECT_EQ(percent_text(42, 4), "4200 %");
}

TEST(Cost, TheGapIsAPartOfTheBound) {
  const auto ps = [](int64_t count) { return Cost::of(count, Cost::Unit::Seconds); };
  EXPECT_EQ(gap(ps(125), ps(100)), 0.25);
  EXPECT_EQ(gap(ps(100), ps(100)), 0.0);
  // A bound of zero proves nothing.
  EXPECT_EQ(gap(ps(125), Cost()), std::nullopt);
}

TEST(Cost, IsATimeUnlessItIsAnEnergy) {
  EXPECT_EQ(Cost::time(Duration::picoseconds(7)).time(), Duration::picoseconds(7));
  EXPECT_EQ(Cost::max().time(), Duration::max());
  EXPECT_THROW(Cost::joules(1).time(), support::InternalError);
}

TEST(Cost, TheSearchOfAProblemInJoulesGivesJoules) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId other = sketch.add_owner("npu", "npu[0]");
  const FormatId there = sketch.add_format("npu[0]");
  sketch.convert(0, there, 2);
  sketch.convert(there, 0, 2);
  sketch.add_singletons(5);
  sketch.add({0, 1}, 4, other, there);
  Problem& problem = sketch.problem;
  problem.unit = Cost::Unit::Joules;
  for (Candidate& candidate : problem.candidates) candidate.cost = problem.cost_of(candidate.cost.count());
  for (ProblemValue& value : problem.values) {
    for (ConversionEdge& edge : value.conversions) edge.cost = problem.cost_of(edge.cost.count());
  }
  const std::optional<Solution> solution = search_optimal(problem);
  ASSERT_TRUE(solution && solution->optimal);
  EXPECT_EQ(human(solution->cost), "13 pJ");
  EXPECT_EQ(human(solution->bound), "13 pJ");
  EXPECT_EQ(to_string(std::get<Cost>(evaluate(problem, *solution))), "13pJ");
  EXPECT_EQ(human(prove_bound(problem, solution->cost).bound), "13 pJ");
}

}  // namespace
}  // namespace collage::place
