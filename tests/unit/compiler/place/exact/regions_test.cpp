// SPDX-License-Identifier: Apache-2.0
// Regions of large engines, by hand: what they save, what must not be joined, and what the evaluator says of it.
#include <gtest/gtest.h>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// A Sketch with an engine in host memory: units cost 5, a join saves 4, everything else costs `others`.
struct Engine : Sketch {
  Engine(size_t node_count, const std::vector<Edge>& edges, const std::vector<NodeId>& units, int others = 100)
      : Sketch(node_count, edges) {
    owner = add_owner("big", "host");
    problem.owners.back().joins = ps(4);
    for (NodeId node : problem.nodes()) {
      if (std::count(units.begin(), units.end(), node) == 0) add({node}, others);
    }
    for (NodeId node : units) unit({node});
  }

  CandidateId unit(const std::vector<NodeId>& nodes, FormatId format = 0) {
    const CandidateId c = add(nodes, 5, owner, format);
    problem.candidates.back().may_join = true;
    return c;
  }

  OwnerId owner = 0;
};

int64_t cost(const Problem& problem) {
  const Solution solution = search_optimal(problem).value();
  EXPECT_TRUE(solution.optimal);
  const Verdict verdict = evaluate(problem, solution);
  EXPECT_EQ(std::get<Cost>(verdict).count(), solution.cost.count());
  return solution.cost.count();
}

TEST(JoinedRegions, AChainPaysOneLaunch) {
  EXPECT_EQ(cost(Engine(3, {{0, 1}, {1, 2}}, {0, 1, 2}).problem), 15 - 8);
}

TEST(JoinedRegions, WhatLeavesDoesNotComeBack) {
  // 0 -> 1 -> 2 and 0 -> 2, 1 on the host: 0 and 2 stay apart.
  EXPECT_EQ(cost(Engine(3, {{0, 1}, {1, 2}, {0, 2}}, {0, 2}).problem), 100 + 10);
}

TEST(JoinedRegions, TwoRegionsMeetInOneReader) {
  EXPECT_EQ(cost(Engine(3, {{0, 2}, {1, 2}}, {0, 1, 2}).problem), 15 - 8);
}

TEST(JoinedRegions, TwoEnginesDoNotWaitForEachOther) {
  // p -> q, r -> s, p -> s, r -> q: the one engine has {p, q}, the other {r, s}. Only one of them can be joined.
  Engine sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}}, {0, 2});
  std::erase_if(sketch.problem.candidates.items(), [](const Candidate& c) { return c.owner == 0; });
  const OwnerId other = sketch.add_owner("large", "host");
  sketch.problem.owners.back().joins = ps(3);
  for (NodeId node : {NodeId(1), NodeId(3)}) {
    sketch.add({node}, 5, other);
    sketch.problem.candidates.back().may_join = true;
  }
  EXPECT_EQ(cost(sketch.problem), 20 - 4);
}

TEST(JoinedRegions, FormatsMustAgree) {
  Engine sketch(2, {{0, 1}}, {0});
  const FormatId other = sketch.add_format("host", "NHWC");
  sketch.problem.candidates.clear();
  sketch.convert(0, other, 1);
  sketch.convert(other, 0, 1);
  sketch.unit({0});
  sketch.unit({1}, other);
  // Conversions before and after the second.
  EXPECT_EQ(cost(sketch.problem), 10 + 2);
  sketch.unit({1});
  EXPECT_EQ(cost(sketch.problem), 10 - 4);
}

TEST(JoinedRegions, EvaluatorSaysWhatIsWrong) {
  const auto reason = [](const Problem& problem, std::vector<CandidateId> chosen, std::vector<RegionId> region) {
    Solution solution;
    solution.chosen = std::move(chosen);
    solution.region = std::move(region);
    const Verdict verdict = evaluate(problem, solution);
    return std::holds_alternative<std::string>(verdict) ? std::get<std::string>(verdict) : "none";
  };
  const Problem path = Engine(3, {{0, 1}, {1, 2}, {0, 2}}, {0, 2}).problem;  // candidates: 1, then 0, 2
  EXPECT_EQ(reason(path, {1, 0, 2}, {0, 1, 2}), "none");
  EXPECT_EQ(reason(path, {1, 0, 2}, {0, 1}), "not every candidate has a region");
  EXPECT_EQ(reason(path, {1, 0, 2}, {0, 1, 0}), "the regions form a cycle");
  EXPECT_EQ(reason(path, {1, 0, 2}, {0, 0, 2}), "a region has two owners");
  const Problem apart = Engine(3, {{0, 2}, {1, 2}}, {0, 1}).problem;  // candidates: 2, then 0, 1
  EXPECT_EQ(reason(apart, {1, 2, 0}, {7, 7, 1}), "a region is not connected");
  Engine mixed(3, {{0, 1}, {0, 2}, {1, 2}}, {0, 1, 2});
  mixed.problem.formats.push_back({"host", "NHWC"});
  mixed.convert(0, 1, 1);
  mixed.problem.candidates[2].reads[0].format = 1;
  EXPECT_EQ(reason(mixed.problem, {0, 1, 2}, {0, 0, 0}), "a region touches value 1 in two formats");
  mixed.problem.candidates[1].may_join = false;
  EXPECT_EQ(reason(mixed.problem, {0, 1, 2}, {0, 0, 2}), "candidate 1 is no unit of a region");
}

TEST(JoinedRegions, ALongChainTakesFewStates) {
  std::vector<Sketch::Edge> edges;
  std::vector<NodeId> units;
  for (NodeId node : support::first_ids<NodeId>(2'000)) {
    if (node > 0) edges.push_back({advance(node, -1), node});
    if (node.index % 4 == 3) edges.push_back({advance(node, -3), node});
    units.push_back(node);
  }
  Engine sketch(2'000, edges, units);
  sketch.add_singletons(2);
  const Solution solution = search_optimal(sketch.problem).value();
  EXPECT_EQ(solution.cost.count(), 2'000 + 4);
  EXPECT_TRUE(solution.optimal);
  EXPECT_EQ(std::set<RegionId>(solution.region.begin(), solution.region.end()).size(), 1u);
  EXPECT_LT(solution.states, 40'000u);
}

}  // namespace
}  // namespace collage::place
