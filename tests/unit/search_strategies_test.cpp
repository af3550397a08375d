// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/place/evaluate.h"
#include "compiler/place/strategies.h"
#include "compiler/support/source_manager.h"
#include "tests/unit/search_sketch.h"

namespace collage::place {
namespace {

class StrategyText : public testing::Test {
 protected:
  std::optional<Strategy> parse(std::string_view text) {
    return parse_strategy(text, {"npu", "onednn", "host"}, "--place", diags_);
  }
  std::string message() { return diags_.records().empty() ? "" : diags_.records().front().message; }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
};

TEST_F(StrategyText, ReadsBackAsWritten) {
  for (const char* text : {"optimal", "greedy", "priority:npu,onednn", "single:host"}) {
    const std::optional<Strategy> strategy = parse(text);
    ASSERT_TRUE(strategy.has_value()) << text;
    EXPECT_EQ(to_string(*strategy), text);
  }
}

TEST_F(StrategyText, UnknownStrategy) {
  EXPECT_FALSE(parse("optimum").has_value());
  ASSERT_EQ(diags_.records().size(), 1u);
  EXPECT_EQ(diags_.records()[0].code, support::Code::BadStrategy);
  EXPECT_EQ(message(), "unknown strategy `optimum`");
  EXPECT_EQ(diags_.records()[0].notes.front().message, "did you mean `optimal`?");
}

TEST_F(StrategyText, UnknownBackend) {
  EXPECT_FALSE(parse("single:onedn").has_value());
  EXPECT_EQ(message(), "unknown backend `onedn`");
  EXPECT_EQ(diags_.records()[0].notes.front().message, "did you mean `onednn`?");
}

TEST_F(StrategyText, WrongNumberOfBackends) {
  for (const char* text : {"greedy:npu", "single", "single:", "single:npu,host", "priority:", "priority:npu,", ""}) {
    EXPECT_FALSE(parse(text).has_value()) << text;
  }
  EXPECT_EQ(diags_.error_count(), 7u);
}

/// A chain of four: the npu is fast at the pair in the middle, slow at all four.
class Strategies : public testing::Test {
 protected:
  Strategies() : sketch_(4, {{0, 1}, {1, 2}, {2, 3}}) {
    npu_ = sketch_.add_owner("npu", "npu[0]");
    library_ = sketch_.add_owner("library", "host");
    device_ = sketch_.add_format("npu[0]");
    sketch_.convert(0, device_, 2);
    sketch_.convert(device_, 0, 2);
    sketch_.add_singletons(5);
    sketch_.add({0, 1, 2, 3}, 17, npu_, device_);
    sketch_.add({1, 2}, 1, npu_, device_);
    sketch_.add({0}, 1, npu_, device_);
    sketch_.add({2, 3}, 4, library_);
  }
  int64_t cost(const char* text) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    const std::optional<Strategy> strategy = parse_strategy(text, {"npu", "library"}, "--place", diags);
    const std::optional<Solution> solution = solve(sketch_.problem, strategy.value());
    if (!solution) return -1;
    const Verdict verdict = evaluate(sketch_.problem, *solution);
    EXPECT_EQ(std::get<Duration>(verdict).ps(), solution->cost.ps());
    EXPECT_EQ(solution->optimal, strategy->kind == Strategy::Kind::Optimal);
    EXPECT_EQ(solution->bound == Duration(), strategy->kind != Strategy::Kind::Optimal);
    return solution->cost.ps();
  }
  Sketch sketch_;
  int npu_ = 0;
  int library_ = 0;
  FormatId device_ = 0;
};

TEST_F(Strategies, OptimalWeighsEverything) {
  EXPECT_EQ(cost("optimal"), 1 + 1 + 5 + 2 + 2);
}
TEST_F(Strategies, GreedyTakesTheLargest) {
  EXPECT_EQ(cost("greedy"), 17 + 2 + 2);
}
TEST_F(Strategies, PriorityGoesInTurns) {
  EXPECT_EQ(cost("priority:library,npu"), 4 + 1 + 2 + 2 + 5);
}
TEST_F(Strategies, PriorityLeavesTheRestToTheHost) {
  EXPECT_EQ(cost("priority:library"), 4 + 5 + 5);
}
TEST_F(Strategies, SingleSearchesItsOwn) {
  EXPECT_EQ(cost("single:library"), 4 + 5 + 5);
}
TEST_F(Strategies, SingleHostUsesNothingElse) {
  EXPECT_EQ(cost("single:host"), 20);
}

TEST(GreedySearch, PassesOverWhatWouldCloseACycle) {
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add_singletons(10);
  sketch.add({0, 2}, 1);
  sketch.add({1, 3}, 2);
  const std::optional<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution.has_value());
  EXPECT_EQ(solution->cost.ps(), 21);
}

TEST(GreedySearch, GivesUpAChoiceThatLeavesNoWay) {
  // Node 1 is pinned to a pair; the larger set must go.
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  sketch.add({0}, 1);
  sketch.add({2}, 1);
  sketch.add({3}, 1);
  sketch.add({0, 1}, 5);
  sketch.add({2, 3}, 1);
  sketch.add({1, 2}, 4);
  const std::optional<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution.has_value());
  EXPECT_TRUE(std::holds_alternative<Duration>(evaluate(sketch.problem, *solution)));
}

TEST(GreedySearch, CountsPartitions) {
  Sketch sketch(2, {{0, 1}});
  const int npu = sketch.add_owner("npu", "npu[0]");
  sketch.problem.owners[static_cast<size_t>(npu)].max_partitions = 1;
  sketch.add_singletons(10);
  sketch.add_singletons(1, npu);
  const std::optional<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution.has_value());
  EXPECT_EQ(solution->cost.ps(), 11);
}

}  // namespace
}  // namespace collage::place
