// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>

#include "compiler/place/baselines/tvm_search.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/solve.h"
#include "runtime/support/source_manager.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

class StrategyText : public ::testing::Test {
 protected:
  std::optional<Strategy> parse(std::string_view text) {
    return parse_strategy(text, {"npu", "onednn", "host"}, "--place", diags_);
  }
  std::string message() { return diags_.records().empty() ? "" : diags_.records().front().message; }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
};

TEST_F(StrategyText, ReadsBackAsWritten) {
  for (const char* text :
       {"optimal", "greedy", "eager", "merge", "tvm", "evolve", "priority:npu,onednn", "single:host", "onnxruntime",
        "litert", "litert:2", "litert:2,10", "torch_tensorrt", "torch_tensorrt:7", "executorch", "hetero", "relax"}) {
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
  for (const char* text : {"greedy:npu", "eager:npu", "tvm:npu", "single", "single:", "single:npu,host",
                           "priority:", "priority:npu,", ""}) {
    EXPECT_FALSE(parse(text).has_value()) << text;
  }
  EXPECT_EQ(diags_.error_count(), 9u);
}

TEST_F(StrategyText, WrongNumbers) {
  for (const char* text : {"litert:", "litert:0", "litert:-1", "litert:two", "litert:1,2,3", "litert:1,", "litert:npu",
                           "torch_tensorrt:1,2", "torch_tensorrt:99999999999999999999", "relax:1"}) {
    EXPECT_FALSE(parse(text).has_value()) << text;
  }
  EXPECT_EQ(diags_.error_count(), 10u);
  EXPECT_EQ(message(), "strategy `litert` takes one or two numbers of 1 and more, found ``");
  EXPECT_EQ(diags_.records()[7].message, "strategy `torch_tensorrt` takes a number of 1 and more, found `1,2`");
}

TEST(PolicyStrategies, AreInNoSetOfSimplerOnes) {
  EXPECT_EQ(policy_strategies().size(), 6u);
  for (const Strategy& policy : policy_strategies()) {
    EXPECT_FALSE(searches(policy));
    for (const Strategy& one : simpler_strategies(Simpler::All, {"host", "npu"})) EXPECT_NE(one, policy);
  }
}

TEST(StrategyRows, AreTheTableInTheManual) {
  std::ifstream file(COLLAGE_SOURCE_DIR "/docs/manual/strategies.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const StrategyRow& row : strategy_rows()) {
    const std::string line = "| `" + usage_of(row) + "` | " + std::string(row.description) + " |\n";
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

TEST(SimplerStrategies, GrowFromSetToSet) {
  const auto names = [](Simpler upto) {
    std::vector<std::string> all;
    for (const Strategy& one : simpler_strategies(upto, {"host", "npu"})) all.push_back(to_string(one));
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(Simpler::Shown), (Names{"single:host", "greedy"}));
  EXPECT_EQ(names(Simpler::Quick), (Names{"single:host", "greedy", "eager"}));
  EXPECT_EQ(names(Simpler::Each), (Names{"single:npu", "single:host", "greedy", "eager", "merge"}));
  EXPECT_EQ(names(Simpler::All), (Names{"single:npu", "single:host", "greedy", "eager", "merge", "tvm"}));
}

/// A chain of four: the npu is fast at the pair in the middle, slow at all four.
class Strategies : public ::testing::Test {
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
    const runtime::Result<Solution> solution = solve(sketch_.problem, strategy.value());
    if (!solution) return -1;
    const Verdict verdict = evaluate(sketch_.problem, *solution);
    EXPECT_EQ(std::get<Cost>(verdict).count(), solution->cost.count());
    EXPECT_EQ(solution->optimal, strategy->kind == Strategy::Kind::Optimal);
    EXPECT_EQ(solution->bound == Cost(), strategy->kind != Strategy::Kind::Optimal);
    return solution->cost.count();
  }
  Sketch sketch_;
  OwnerId npu_;
  OwnerId library_;
  FormatId device_;
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
TEST_F(Strategies, EagerGoesInTheOrderOfRegistration) {
  EXPECT_EQ(cost("eager"), cost("priority:npu,library"));
  EXPECT_EQ(cost("eager"), 17 + 2 + 2);
}
TEST_F(Strategies, TvmDoesNotSeeTransfers) {
  // Additive: 17 for all on the npu against 1 + 1 + 5. What it takes costs two crossings more.
  EXPECT_EQ(cost("tvm"), 1 + 1 + 5 + 2 + 2);
}
TEST_F(Strategies, EvolveStartsAtTheOptimumAndProvesNothing) {
  EXPECT_EQ(cost("evolve"), cost("optimal"));
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
  const runtime::Result<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->cost.count(), 21);
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
  const runtime::Result<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution);
  EXPECT_TRUE(std::holds_alternative<Cost>(evaluate(sketch.problem, *solution)));
}

TEST(GreedySearch, CountsPartitions) {
  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.problem.owners[npu].max_partitions = 1;
  sketch.add_singletons(10);
  sketch.add_singletons(1, npu);
  const runtime::Result<Solution> solution = solve(sketch.problem, {Strategy::Kind::Greedy, {}});
  ASSERT_TRUE(solution);
  EXPECT_EQ(solution->cost.count(), 11);
}

/// TVM's mock costs: n operators on a target of unit cost c take c (1 + 0.9 + 0.81 + ...). Here in thousandths.
int mock_cost(int unit, size_t operators) {
  double cost = 0;
  double factor = 1;
  for (size_t i = 0; i < operators; ++i, factor *= 0.9) cost += 1000.0 * unit * factor;
  return static_cast<int>(cost + 0.5);
}

/// A chain of `length` operators; each target has every run of up to its depth.
class TvmChain : public ::testing::Test {
 protected:
  void add_target(Sketch& sketch, const std::string& name, int unit, size_t depth) {
    const OwnerId owner = sketch.add_owner(name, "host");
    const IdRange<NodeId> all = sketch.problem.nodes();
    for (NodeId begin : all) {
      std::vector<NodeId> nodes;
      for (NodeId node : IdRange<NodeId>(begin, all.last_plus_one())) {
        if (nodes.size() == depth) break;
        nodes.push_back(node);
        sketch.add(nodes, mock_cost(unit, nodes.size()), owner);
      }
    }
  }
  /// `hook{0} llvm{1,2}` in the order of execution.
  static std::string text(const Problem& problem, const Solution& solution) {
    std::string text;
    for (CandidateId c : solution.chosen) {
      const Candidate& candidate = problem.candidates[c];
      text += (text.empty() ? "" : " ") + problem.owners[candidate.owner].backend + "{";
      for (NodeId node : candidate.nodes) text += (text.back() == '{' ? "" : ",") + std::to_string(node.index);
      text += "}";
    }
    return text;
  }
  /// Why TVM's search finds nothing; empty if it does.
  static std::string reason(const Problem& problem, const SearchOptions& options = {}) {
    const runtime::Result<Solution> found = solve(problem, {Strategy::Kind::Tvm, {}}, options);
    return found ? "" : found.message();
  }
  std::string chosen_by_tvm(int llvm, size_t llvm_depth, int hook, size_t hook_depth) {
    Sketch sketch(3, {{0, 1}, {1, 2}});
    add_target(sketch, "llvm", llvm, llvm_depth);
    add_target(sketch, "hook", hook, hook_depth);
    return text(sketch.problem, *solve(sketch.problem, {Strategy::Kind::Tvm, {}}));
  }
};

TEST_F(TvmChain, DepthOfTheNativeTarget) {  // its case A4, with its choice among equals
  EXPECT_EQ(chosen_by_tvm(100, 1, 99, 1), "hook{0} hook{1} hook{2}");
  EXPECT_EQ(chosen_by_tvm(100, 2, 99, 1), "hook{0} llvm{1,2}");
  EXPECT_EQ(chosen_by_tvm(100, 3, 99, 1), "llvm{0,1,2}");
}

TEST_F(TvmChain, DepthOfTheExternalTarget) {  // its case A5
  EXPECT_EQ(chosen_by_tvm(99, 1, 100, 1), "llvm{0} llvm{1} llvm{2}");
  EXPECT_EQ(chosen_by_tvm(99, 1, 100, 2), "llvm{0} hook{1,2}");
  EXPECT_EQ(chosen_by_tvm(99, 1, 100, 3), "hook{0,1,2}");
}

TEST_F(TvmChain, PruningKeepsTheMaximal) {  // its case A10: two relu in a row, two adds with a tap each
  Sketch sketch(4, {{0, 1}, {0, 2}, {1, 2}, {1, 3}, {2, 3}});
  for (const auto& [name, unit] : {std::pair("llvm", 2), std::pair("hook", 1)}) {
    const OwnerId owner = sketch.add_owner(name, "host");
    for (const std::vector<NodeId>& nodes :
         std::vector<std::vector<NodeId>>{{0}, {1}, {2}, {3}, {2, 3}, {1, 2, 3}, {0, 1, 2, 3}}) {
      sketch.add(nodes, mock_cost(unit, nodes.size()), owner);
    }
  }
  EXPECT_EQ(prune_as_tvm(sketch.problem), (std::vector<CandidateId>{6, 13}));
  const runtime::Result<Solution> solution = solve(sketch.problem, {Strategy::Kind::Tvm, {}});
  EXPECT_EQ(text(sketch.problem, *solution), "hook{0,1,2,3}");
  EXPECT_EQ(solution->cost.count(), 3439);
}

TEST_F(TvmChain, TwinsKillEachOther) {  // probe X1: a pattern of two, and the union of two patterns of one
  Sketch sketch(2, {{0, 1}});
  const OwnerId llvm = sketch.add_owner("llvm", "host");
  const OwnerId hook = sketch.add_owner("hook", "host");
  for (const std::vector<NodeId>& nodes : std::vector<std::vector<NodeId>>{{0}, {1}, {0, 1}}) {
    sketch.add(nodes, mock_cost(10, nodes.size()), llvm);
    sketch.add(nodes, mock_cost(1, nodes.size()), hook, 0, "union");
  }
  sketch.add({0, 1}, mock_cost(1, 2), hook, 0, "relu_relu");
  EXPECT_EQ(text(sketch.problem, *solve(sketch.problem, {Strategy::Kind::Tvm, {}})), "llvm{0,1}");
  const runtime::Result<Solution> best = solve(sketch.problem, {});
  EXPECT_EQ(text(sketch.problem, *best), "hook{0,1}");
  EXPECT_EQ(best->cost.count(), 1900);
}

TEST_F(TvmChain, FormatsAreNoTwins) {
  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId plain = sketch.add_format("npu[0]"), blocked = sketch.add_format("npu[0]", "NHWC");
  for (FormatId format : {plain, blocked}) {
    sketch.convert(0, format, format == plain ? 2 : 1);
    sketch.convert(format, 0, 3);
    sketch.add({0, 1}, 5, npu, format);
  }
  sketch.add_singletons(50);
  // Nothing is lost (the singletons of the host come in a later round), and the one that is cheaper to feed is taken.
  EXPECT_EQ(prune_as_tvm(sketch.problem), (std::vector<CandidateId>{0, 1, 2, 3}));
  EXPECT_EQ(solve(sketch.problem, {Strategy::Kind::Tvm, {}})->cost.count(), 1 + 5 + 3);
}

TEST_F(TvmChain, PrunedCandidatesComeBackWhereNothingElseCovers) {
  // The twins take each other away and nothing else holds both nodes; TVM would stop with an error.
  Sketch sketch(2, {{0, 1}});
  sketch.add({0, 1}, 3, 0, 0, "a");
  sketch.add({0, 1}, 4, 0, 0, "b");
  EXPECT_TRUE(prune_as_tvm(sketch.problem).empty());
  EXPECT_EQ(solve(sketch.problem, {Strategy::Kind::Tvm, {}})->cost.count(), 3);
}

TEST_F(TvmChain, SeveralExitsAreUnknownToIt) {
  // Each pair is convex, but each waits for the other: one of them is the optimum, TVM has neither.
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add({0, 2}, 1);
  sketch.add({1, 3}, 1);
  sketch.add_singletons(10);
  EXPECT_EQ(solve(sketch.problem, {Strategy::Kind::Tvm, {}})->cost.count(), 40);
  EXPECT_EQ(solve(sketch.problem, {})->cost.count(), 21);
}

TEST_F(TvmChain, AChoiceThatClosesACycleIsNoPlan) {
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add({0, 2}, 1);
  sketch.add({1, 3}, 1);
  EXPECT_EQ(reason(sketch.problem), "TVM's choice is no plan: the partitions form a cycle");
}

/// A chain of two nodes for `npu`, which takes each alone.
Sketch two_on_npu() {
  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(10);
  sketch.add_singletons(1, npu);
  return sketch;
}

TEST_F(TvmChain, WhatLimitsForbidIsGivenUp) {
  Sketch sketch = two_on_npu();
  const OwnerId npu = sketch.problem.candidates.back().owner;
  sketch.problem.owners[npu].max_partitions = 1;
  const runtime::Result<Solution> found = solve(sketch.problem, {Strategy::Kind::Tvm, {}});
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(text(sketch.problem, *found), "npu{0} host{1}");
  EXPECT_EQ(found->cost.count(), 11);
  EXPECT_FALSE(found->optimal);
  EXPECT_EQ(found->given_up,
            "TVM's choice is no plan: 2 partitions on `npu`, at most 1 are allowed; 1 of its 2 partitions kept");
}

TEST_F(TvmChain, WhatMemoryCannotHoldIsGivenUp) {
  Sketch sketch = two_on_npu();
  for (CandidateId c : {CandidateId(2), CandidateId(3)}) {
    sketch.problem.candidates[c].constants = {sketch.problem.constant_bytes.add(100)};
  }
  sketch.problem.owners[sketch.problem.candidates.back().owner].memory = 150;
  const runtime::Result<Solution> found = solve(sketch.problem, {Strategy::Kind::Tvm, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(text(sketch.problem, *found), "npu{0} host{1}");
  EXPECT_FALSE(found->given_up.empty());
}

TEST_F(TvmChain, WhatMemoryOfThePlanCannotHoldIsGivenUp) {
  // Two of the three values are held at once: 200 bytes by the count, and more by the plan of all four nodes.
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(10);
  sketch.add_singletons(1, npu);
  for (ProblemValue& value : sketch.problem.values) value.bytes = 100;
  sketch.problem.owners[npu].memory = 250;
  const std::string all = "npu{0} npu{1} npu{2} npu{3}";
  SearchOptions options;
  options.excess = [&](const Solution& solution) -> std::map<std::string, int64_t> {
    if (text(sketch.problem, solution) == all) return {{"npu[0]", 7 << 10}};
    return {};
  };
  const runtime::Result<Solution> found = solve(sketch.problem, {Strategy::Kind::Tvm, {}}, options);
  ASSERT_TRUE(found);
  EXPECT_NE(text(sketch.problem, *found), all);
  EXPECT_EQ(found->given_up,
            "TVM's choice is no plan: it needs 7 KiB more than `npu[0]` has; 3 of its 4 partitions kept");
}

TEST_F(TvmChain, NothingIsGivenUpOfAPlan) {
  const Sketch sketch = two_on_npu();
  EXPECT_EQ(solve(sketch.problem, {Strategy::Kind::Tvm, {}})->given_up, "");
}

TEST_F(TvmChain, StopsAtItsBudget) {
  Sketch sketch(8, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}});
  sketch.add_singletons(1);
  SearchOptions options;
  options.max_states = 3;
  EXPECT_EQ(reason(sketch.problem, options), "TVM's search is not done after 3 covered sets");
  options = {};
  options.max_seconds = 0;
  EXPECT_EQ(reason(sketch.problem, options), "TVM's search is not done after 0 s");
}

TEST_F(TvmChain, EndsWhenItIsStopped) {
  Sketch sketch(2, {{0, 1}});
  sketch.add_singletons(1);
  const std::atomic<bool> stop{true};
  SearchOptions options;
  options.stop = &stop;
  EXPECT_EQ(reason(sketch.problem, options), "TVM's search was stopped after 0 covered sets");
}

}  // namespace
}  // namespace collage::place
