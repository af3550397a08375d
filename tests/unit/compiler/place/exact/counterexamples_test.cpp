// SPDX-License-Identifier: Apache-2.0
// What a correct placement search must respect, each as the smallest problem that a naive search gets wrong.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/quotient.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

Solution solved(const Problem& problem) {
  const std::optional<Solution> solution = search_optimal(problem);
  EXPECT_TRUE(solution.has_value());
  if (!solution) return {};
  EXPECT_TRUE(solution->optimal);
  const Verdict verdict = evaluate(problem, *solution);
  EXPECT_TRUE(std::holds_alternative<Cost>(verdict));
  if (const auto* cost = std::get_if<Cost>(&verdict)) {
    EXPECT_EQ(cost->count(), solution->cost.count());
  }
  return *solution;
}

TEST(Counterexamples, ConvexCandidatesCanFormACycle) {
  // p->q, r->s, p->s, r->q: {p,q} and {r,s} wait for each other.
  enum { P, R, Q, S };
  Sketch sketch(4, {{P, Q}, {R, S}, {P, S}, {R, Q}});
  sketch.add_singletons(10);
  sketch.add({P, Q}, 1);
  sketch.add({R, S}, 2);
  const NodeGraph graph = node_graph(sketch.problem);
  const Reachability reach(graph);
  EXPECT_TRUE(is_convex(graph, reach, {P, Q}));
  EXPECT_TRUE(is_convex(graph, reach, {R, S}));
  const std::vector<NodeId> first = {P, Q};
  EXPECT_FALSE(stays_acyclic(reach, {&first}, {R, S}));
  const Solution solution = solved(sketch.problem);
  EXPECT_EQ(solution.cost.count(), 21);
  EXPECT_EQ(chosen_sets(sketch.problem, solution), (std::set<std::vector<NodeId>>{{P, Q}, {R}, {S}}));
}

TEST(Counterexamples, TheCoveredSetIsNoKey) {
  // {p0},{p,q} is cheaper than {p0,q},{p} and covers the same nodes, but only the second permits {r,s}.
  enum { P0, P, R, Q, S };
  Sketch sketch(5, {{P0, Q}, {P, Q}, {P, S}, {R, Q}, {R, S}});
  sketch.add_singletons(20);
  sketch.problem.candidates[P0].cost = ps(1);
  sketch.problem.candidates[P].cost = ps(3);
  sketch.add({P, Q}, 4);
  sketch.add({P0, Q}, 4);
  sketch.add({R, S}, 1);
  const Solution solution = solved(sketch.problem);
  EXPECT_EQ(solution.cost.count(), 8);
  EXPECT_EQ(chosen_sets(sketch.problem, solution), (std::set<std::vector<NodeId>>{{P0, Q}, {P}, {R, S}}));
}

TEST(Counterexamples, ThreePairsInARing) {
  // Each pair feeds the next; any two are fine, all three are not. The middle one stays dangerous after it is covered.
  Sketch sketch(6, {{0, 4}, {1, 5}, {2, 3}});
  sketch.add_singletons(10);
  sketch.add({0, 3}, 1);
  sketch.add({1, 4}, 2);
  sketch.add({2, 5}, 3);
  EXPECT_EQ(solved(sketch.problem).cost.count(), 23);
}

TEST(Counterexamples, ReadersMayBeChosenBeforeTheWriter) {
  // The first candidate covers the source and its far reader; the value between is written afterwards, in another
  // format. 0 -> 3, 1 -> 2 -> 3: whatever the order, {0, 3} demands the result of 2 before or after 2 is placed.
  Sketch sketch(4, {{0, 3}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 4);
  sketch.convert(device, 0, 5);
  sketch.add_singletons(30);
  sketch.add({0, 3}, 1, npu, device);
  sketch.add({1}, 1, npu, device);
  sketch.add({2}, 1);
  // Input to the device 4 (shared by 0 and 1), 1's result back 5, 2's result over 4, the output back 5.
  EXPECT_EQ(solved(sketch.problem).cost.count(), 1 + 1 + 1 + 4 + 5 + 4 + 5);
}

TEST(Counterexamples, ASharedConversionIsChargedOnce) {
  Sketch sketch(3, {{0, 1}, {0, 2}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 6);
  sketch.convert(device, 0, 0);
  sketch.add({0}, 1);
  sketch.add({1}, 10);
  sketch.add({2}, 10);
  sketch.add({1}, 5, npu, device);
  sketch.add({2}, 5, npu, device);
  // Alone neither reader is worth its copy: 5 + 6 > 10. Together they are.
  EXPECT_EQ(solved(sketch.problem).cost.count(), 1 + 6 + 5 + 5);
}

TEST(Counterexamples, OneCopyFeedsTwoReorders) {
  Sketch sketch(3, {{0, 1}, {0, 2}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  const FormatId rows = sketch.add_format("npu[0]", "NHWC");
  const FormatId columns = sketch.add_format("npu[0]", "NCHW8c");
  sketch.convert(0, device, 7);
  sketch.convert(device, rows, 1);
  sketch.convert(device, columns, 1);
  sketch.convert(rows, 0, 0);
  sketch.convert(columns, 0, 0);
  sketch.add({0}, 1);
  sketch.add({1}, 100);
  sketch.add({2}, 100);
  sketch.add({1}, 1, npu, rows);
  sketch.add({2}, 1, npu, columns);
  EXPECT_EQ(solved(sketch.problem).cost.count(), 1 + 7 + 1 + 1 + 1 + 1);
}

TEST(Counterexamples, MoreFormatsPaidForAreNotSimplyBetter) {
  // Nodes 0 and 1 can be had for 3 with the value on the host only, or for 5 with a copy on the device that 3 can use.
  Sketch sketch(4, {{0, 1}, {0, 3}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 3);
  sketch.convert(device, 0, 0);
  sketch.add({0}, 1);
  sketch.add({1}, 2);
  sketch.add({1}, 1, npu, device);
  sketch.add({2}, 1);
  sketch.add({3}, 9);
  sketch.add({3}, 1, npu, device);
  // 3 on the device wants the results of 0 and 2 there; with 1 there as well the first copy is shared.
  EXPECT_EQ(solved(sketch.problem).cost.count(), 1 + (1 + 3) + 1 + (1 + 3));
}

TEST(Counterexamples, TwoSmallerPartitionsBeatOneLarge) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(5);
  sketch.add({0, 1, 2}, 9);
  sketch.add({0, 1}, 4);
  const Solution solution = solved(sketch.problem);
  sketch.add({2}, 4);
  EXPECT_EQ(solution.cost.count(), 9);
  EXPECT_EQ(solution.chosen.size(), 1u) << "equal costs: fewer partitions";
  EXPECT_EQ(chosen_sets(sketch.problem, solved(sketch.problem)), (std::set<std::vector<NodeId>>{{0, 1}, {2}}));
}

TEST(Counterexamples, EqualInstancesAreInterchangeable) {
  Sketch sketch(6, {{0, 1}, {1, 2}, {3, 4}, {4, 5}});
  FormatId device[2];
  for (int i = 0; i < 2; ++i) {
    const std::string name = fmt::format("npu[{}]", i);
    const OwnerId npu = sketch.add_owner("npu", name);
    device[i] = sketch.add_format(name);
    sketch.convert(0, device[i], 3);
    sketch.convert(device[i], 0, 3);
    sketch.add_singletons(1, npu, device[i]);
  }
  sketch.convert(device[0], device[1], 2);
  sketch.convert(device[1], device[0], 2);
  sketch.add_singletons(4);
  const Solution solution = solved(sketch.problem);
  EXPECT_EQ(solution.cost.count(), 6 + 3 + 3 + 3);
  for (CandidateId c : solution.chosen) {
    EXPECT_EQ(sketch.problem.owners[sketch.problem.candidates[c].owner].instance, "npu[0]")
        << "of equal instances the first";
  }
}

TEST(Counterexamples, CountsAreLimitedOverAllInstances) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  for (int i = 0; i < 2; ++i) {
    const OwnerId npu = sketch.add_owner("npu", fmt::format("npu[{}]", i));
    sketch.problem.owners[npu].max_partitions = 1;
    sketch.add_singletons(1, npu);
  }
  sketch.add_singletons(10);
  sketch.problem.candidates.back().cost = ps(30);
  const Solution solution = solved(sketch.problem);
  EXPECT_EQ(solution.cost.count(), 10 + 10 + 1) << "the one partition goes where it saves most";
}

TEST(Counterexamples, ConflictsHoldBothWays) {
  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const OwnerId dsp = sketch.add_owner("dsp", "dsp[0]");
  sketch.problem.owners[dsp].conflicts = {npu};
  sketch.add_singletons(10);
  sketch.add({0}, 1, npu);
  sketch.add({1}, 2, dsp);
  EXPECT_EQ(solved(sketch.problem).cost.count(), 11);
}

TEST(Counterexamples, TiesGoByRuleNameWhateverTheOrder) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId hook = sketch.add_owner("hook", "host");
  sketch.add_singletons(100, 0, 0, "llvm");
  sketch.add_singletons(99, hook, 0, "hook");
  sketch.add({0, 1}, 190, 0, 0, "llvm");
  sketch.add({1, 2}, 190, 0, 0, "llvm");
  for (int round = 0; round < 2; ++round) {
    const Solution solution = solved(sketch.problem);
    EXPECT_EQ(solution.cost.count(), 289);
    EXPECT_EQ(chosen_sets(sketch.problem, solution), (std::set<std::vector<NodeId>>{{0}, {1, 2}}));
    std::reverse(sketch.problem.candidates.begin(), sketch.problem.candidates.end());
  }
}

TEST(Counterexamples, NoSolutionIsNoAnswer) {
  Sketch sketch(2, {{0, 1}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 1);
  sketch.add({0}, 1);
  sketch.add({1}, 1, npu, device);
  EXPECT_FALSE(search_optimal(sketch.problem).has_value()) << "the result cannot come back to the host";
}

/// Forty nodes, each of which the next two read, on the host or a device.
Sketch ladder() {
  Sketch sketch(40, [] {
    std::vector<Sketch::Edge> edges;
    for (NodeId node : support::first_ids<NodeId>(38)) {
      edges.insert(edges.end(), {{node, advance(node, 1)}, {node, advance(node, 2)}});
    }
    return edges;
  }());
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 3);
  sketch.convert(device, 0, 3);
  for (NodeId node : sketch.problem.nodes()) {
    sketch.add({node}, 4 + node.index * 7 % 5);
    sketch.add({node}, 2 + node.index * 5 % 7, npu, device);
  }
  return sketch;
}

TEST(Counterexamples, ATruncatedSearchStatesABound) {
  const Sketch sketch = ladder();
  SearchOptions tight;
  tight.max_states = 45;
  tight.tie_states = 0;
  const std::optional<Solution> rough = search_optimal(sketch.problem, tight);
  const Solution exact = solved(sketch.problem);
  ASSERT_TRUE(rough.has_value());
  EXPECT_LE(rough->bound, exact.cost);
  EXPECT_GE(rough->cost, exact.cost);
  EXPECT_GT(rough->bound, Cost());
}

TEST(Counterexamples, WhenTheTimeOfAllSearchesIsOverOneKeepsItsFirstSolution) {
  const Sketch sketch = ladder();
  SearchOptions late;
  late.max_seconds = 1000;
  late.deadline = std::chrono::steady_clock::now();
  const std::optional<Solution> first = search_optimal(sketch.problem, late);
  ASSERT_TRUE(first.has_value());
  EXPECT_LT(first->states, solved(sketch.problem).states);
  EXPECT_FALSE(late.with_part_of_time(0.5).deadline == late.deadline);
  EXPECT_EQ(*late.with_part_of_time(0.5).max_seconds, 500);
}

}  // namespace
}  // namespace collage::place
