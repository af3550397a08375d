// SPDX-License-Identifier: Apache-2.0
// The chain bound and what makes it tight: the smoothed slope, tuning, windows, candidates that can go.
#include "compiler/place/exact/bound/relaxation_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/bound/tune_bound.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/exact/periodic_start.h"
#include "compiler/place/exact/search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// Diamonds in a row; an accelerator may take pairs that are no neighbours in the order.
Sketch diamonds(size_t count, bool with_npu = true) {
  std::vector<Sketch::Edge> edges;
  for (size_t d = 0; d < count; ++d) {
    const NodeId a(4 * d);
    const NodeId b = advance(a, 1), c = advance(a, 2), e = advance(a, 3);
    edges.insert(edges.end(), {{a, b}, {a, c}, {b, e}, {c, e}});
    if (d > 0) edges.push_back({advance(a, -1), a});
  }
  Sketch sketch(4 * count, edges);
  const FormatId device = sketch.add_format("npu[0]");
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.convert(0, device, 700);
  sketch.convert(device, 0, 700);
  for (NodeId n : sketch.problem.nodes()) {
    sketch.add({n}, 1000 + 37 * (n.index % 4), 0, 0);
    if (with_npu) sketch.add({n}, 900 - 11 * (n.index % 4), npu, device);
  }
  for (size_t d = 0; with_npu && d < count; ++d) {
    const NodeId a(4 * d);
    const NodeId b = advance(a, 1), c = advance(a, 2), e = advance(a, 3);
    sketch.add({a, b}, 1200, npu, device);
    sketch.add({a, c}, 1210, npu, device);
    sketch.add({a, b, e}, 2900, npu, device);
    sketch.add({b, e}, 1330, npu, device);
    sketch.add({a, b, c, e}, 2500, npu, device);
  }
  return sketch;
}

/// Its shares, and prices of zero.
SmoothPoint shares_of(const ChainBound& bound) {
  SmoothPoint point;
  for (int64_t share : bound.multipliers().shares) point.shares.push_back(static_cast<double>(share));
  point.prices.resize(bound.multipliers().prices.size());
  return point;
}

TEST(SmoothChain, SlopeIsTheOneOfItsValue) {
  Sketch sketch = diamonds(3);
  IndexedProblem search(sketch.problem);
  ChainBound bound(search);
  SmoothChain smooth(bound.layout());
  SmoothPoint point = shares_of(bound);
  for (PriceId p : point.prices.ids()) point.prices[p] = 13.0 * (p.index % 5);
  SmoothPoint slope = point, other = point;
  const double temperature = 150, step = 0.01;
  const double value = smooth.evaluate(point, temperature, slope);
  // Shares only: what values get back is a hard minimum, with a soft slope.
  for (RunId r : bound.runs().ids()) {
    SmoothPoint moved = point;
    moved.shares[r] += step;
    EXPECT_NEAR((smooth.evaluate(moved, temperature, other) - value) / step, slope.shares[r], 2e-3) << r.index;
  }
}

TEST(SmoothChain, LiesBelowTheHardBoundAndMeetsItWhenCold) {
  Sketch sketch = diamonds(4);
  IndexedProblem search(sketch.problem);
  ChainBound bound(search);
  SmoothChain smooth(bound.layout());
  const SmoothPoint point = shares_of(bound);
  SmoothPoint slope = point;
  const double hard = static_cast<double>(bound.lower().count());
  double last = -1e9;
  for (double temperature : {1000.0, 100.0, 10.0, 1.0, 0.01}) {
    const double value = smooth.evaluate(point, temperature, slope);
    EXPECT_LE(value, hard + 1e-6);
    EXPECT_GE(value, last);
    last = value;
  }
  EXPECT_NEAR(last, hard, 1);
}

TEST(BoundTuner, ClosesMostOfTheGap) {
  Sketch sketch = diamonds(20);
  const std::optional<Solution> best = search_optimal(sketch.problem);
  ASSERT_TRUE(best && best->optimal);
  IndexedProblem search(sketch.problem);
  ChainBound bound(search);
  const Cost before = best->cost - bound.lower();
  BoundTuner(search, bound).ascend(best->cost, 300);
  const Cost after = best->cost - bound.lower();
  EXPECT_GE(after, Cost());
  EXPECT_LT(10 * after.count(), before.count());
}

TEST(PeriodicStart, CopiesWhatAWindowLearns) {
  Sketch sketch = diamonds(800);
  IndexedProblem search(sketch.problem);
  ChainBound plain(search), started(search);
  EXPECT_GT(start_from_windows(sketch.problem, search, started), 0);
  const std::optional<Solution> best = search_optimal(sketch.problem);
  ASSERT_TRUE(best);
  EXPECT_LE(started.lower(), best->cost);
  EXPECT_LT(2 * (best->cost - started.lower()).count(), (best->cost - plain.lower()).count());
}

TEST(PeriodicStart, LeavesSmallGraphsAlone) {
  Sketch sketch = diamonds(10);
  IndexedProblem search(sketch.problem);
  ChainBound bound(search);
  EXPECT_EQ(start_from_windows(sketch.problem, search, bound), 0);
}

TEST(OptimalSearch, TellsItsProgress) {
  Sketch sketch = diamonds(40);
  std::vector<SearchProgress> seen;
  SearchOptions options;
  options.on_progress = [&](const SearchProgress& now) { seen.push_back(now); };
  const std::optional<Solution> best = search_optimal(sketch.problem, options);
  ASSERT_TRUE(best);
  ASSERT_FALSE(seen.empty());
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_LE(seen[i].cost, seen[i - 1].cost);
    EXPECT_GE(seen[i].bound, seen[i - 1].bound);
    EXPECT_GE(seen[i].states, seen[i - 1].states);
    EXPECT_LE(seen[i].bound, seen[i].cost);
  }
  EXPECT_EQ(seen.back().cost, best->cost);
}

TEST(OptimalSearch, LargeGraphWithinAPercentOfItsBoundOnASmallBudget) {
  Sketch sketch = diamonds(2500);
  SearchOptions options;
  options.max_states = 20'000;
  const std::optional<Solution> best = search_optimal(sketch.problem, options);
  ASSERT_TRUE(best);
  EXPECT_LE(best->bound, best->cost);
  EXPECT_LT(100 * (best->cost - best->bound).count(), best->cost.count());
}

/// Chains side by side, each better off on an accelerator of its own.
Problem parallel_chains(size_t chains, bool equal) {
  std::vector<Sketch::Edge> edges;
  for (size_t c = 0; c < chains; ++c) {
    const NodeId first(3 * c), second = advance(first, 1);
    edges.insert(edges.end(), {{first, second}, {second, advance(second, 1)}});
  }
  Sketch sketch(3 * chains, edges);
  for (int i = 0; i < 3; ++i) {
    const std::string instance = "npu[" + std::to_string(i) + "]";
    const FormatId device = sketch.add_format(instance);
    const OwnerId npu = sketch.add_owner("npu", instance);
    sketch.convert(0, device, 100);
    sketch.convert(device, 0, 100);
    for (NodeId n : sketch.problem.nodes()) sketch.add({n}, 700 + (equal ? 0 : i * (1 + n.index)), npu, device);
  }
  for (NodeId n : sketch.problem.nodes()) sketch.add({n}, 760, 0, 0);
  return sketch.problem;
}

TEST(InstanceSymmetry, FindsEqualInstancesOnly) {
  EXPECT_TRUE(InstanceSymmetry(parallel_chains(2, true)).exists());
  EXPECT_FALSE(InstanceSymmetry(parallel_chains(2, false)).exists());
  Problem limited = parallel_chains(2, true);
  limited.owners[1].memory = 10;
  limited.owners[2].memory = 20;
  limited.owners[3].memory = 30;
  EXPECT_FALSE(InstanceSymmetry(limited).exists());
}

TEST(InstanceSymmetry, NamesInOrderOfAppearance) {
  const Problem problem = parallel_chains(2, true);
  const InstanceSymmetry symmetry(problem);
  InstanceSymmetry::Renaming rename(symmetry);
  EXPECT_EQ(rename(0), FormatId(0));
  EXPECT_EQ(rename(3), FormatId(1));
  EXPECT_EQ(rename(1), FormatId(2));
  EXPECT_EQ(rename(3), FormatId(1));
  EXPECT_EQ(rename(2), FormatId(3));
}

/// What a candidate holds beside the rest decides: memory in the search, not after it.
TEST(MemorySearch, LeavesOutWhatEarnsLeastForItsBytes) {
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  const FormatId device = sketch.add_format("npu[0]");
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.convert(0, device, 1);
  sketch.convert(device, 0, 1);
  sketch.problem.constant_bytes = {60, 50, 40, 10};
  for (NodeId n : sketch.problem.nodes()) {
    sketch.add({n}, 100, 0, 0);
    const CandidateId c = sketch.add({n}, 50 - 5 * n.index, npu, device);
    sketch.problem.candidates[c].constants = {ConstantId(n.slot())};
  }
  sketch.problem.owners[npu].memory = 100;
  const std::optional<Solution> best = search_optimal(sketch.problem);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->optimal);
  // 50 + 40 + 10 bytes: the last three nodes, one copy in and one out.
  EXPECT_EQ(best->cost.count(), 100 + 45 + 40 + 35 + 2);
  sketch.problem.owners[npu].memory = 9;
  EXPECT_EQ(search_optimal(sketch.problem)->cost.count(), 400);
}

TEST(MemorySearch, CountsValuesWhileTheyLive) {
  Sketch sketch(3, {{0, 1}, {0, 2}, {1, 2}});
  const FormatId device = sketch.add_format("npu[0]");
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.convert(0, device, 0);
  sketch.convert(device, 0, 0);
  for (ProblemValue& value : sketch.problem.values) value.bytes = 10;
  for (NodeId n : sketch.problem.nodes()) {
    sketch.add({n}, 100, 0, 0);
    sketch.add({n}, 10, npu, device);
  }
  // Node 1 alone reads one value and makes one; node 2 reads two and makes one while the first still lives.
  for (const auto& [bytes, cost] : {std::pair(30, 30), std::pair(29, 120), std::pair(19, 300)}) {
    sketch.problem.owners[npu].memory = bytes;
    const std::optional<Solution> best = search_optimal(sketch.problem);
    ASSERT_TRUE(best);
    EXPECT_TRUE(best->optimal);
    EXPECT_EQ(best->cost.count(), cost) << bytes;
  }
}

}  // namespace
}  // namespace collage::place
