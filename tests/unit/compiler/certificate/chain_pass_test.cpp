// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/chain_pass.h"

#include <gtest/gtest.h>

#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using place::Proof;
using place::ps;
using place::Sketch;

/// One round over all candidates of a problem of which nodes stand in the order of their ids.
struct Round {
  explicit Round(const place::Problem& problem) {
    file.problem = problem;
    file.names = names_of(problem);
    for (NodeId node : problem.nodes()) order.position.push_back(Position(node.slot()));
    for (CandidateId c : problem.candidates.ids()) {
      std::vector<Stretch> runs;
      for (NodeId node : problem.candidates[c].nodes) {
        const Position at(node.slot());
        if (runs.empty() || runs.back().last_plus_one() != at) runs.emplace_back(at, at);
        runs.back() = Stretch(runs.back().front(), support::advance(at, 1));
      }
      order.runs.push_back(std::move(runs));
      candidates.push_back(c);
      costs.push_back(problem.candidates[c].cost.count());
    }
  }
  /// The cheapest chain; -1 where the multipliers are refused.
  int64_t lower() {
    ChainPass pass(file, order, candidates, costs);
    return pass.set(multipliers) ? static_cast<int64_t>(pass.lower()) : -1;
  }
  std::vector<int64_t> lower_with() {
    ChainPass pass(file, order, candidates, costs);
    EXPECT_EQ(fault(pass.set(multipliers)), "");
    pass.lower();
    std::vector<int64_t> result;
    for (Wide cost : pass.lower_with()) result.push_back(static_cast<int64_t>(std::min<Wide>(cost, 1'000'000)));
    return result;
  }
  std::string refused() { return fault(ChainPass(file, order, candidates, costs).set(multipliers)); }

  CertificateFile file;
  Order order;
  Table<EntryId, CandidateId> candidates;
  Table<EntryId, Wide> costs;
  Proof::Round multipliers;
};

TEST(ChainPass, OfAChainItIsTheCheapestPlan) {
  // Each value is read right after it is written: nothing is left out. With candidate v on the host, the rest goes
  // where it is cheapest beside it.
  Round round(chain_problem());
  EXPECT_EQ(round.lower(), 18);
  // 10 + (4 + 3 + 3 + 5) | 4+3+5 + 10 + 4+3+5, or 30 | (4 + 3 + 3 + 5) + 10 | 18 each.
  EXPECT_EQ(round.lower_with(), (std::vector<int64_t>{25, 30, 25, 18, 18, 18}));
}

TEST(ChainPass, ANodeThatNothingRunsHasNoChain) {
  place::Problem problem = chain_problem();
  problem.candidates.items() = {problem.candidates[0], problem.candidates[2]};
  Round round(problem);
  ChainPass pass(round.file, round.order, round.candidates, round.costs);
  ASSERT_EQ(fault(pass.set({})), "");
  EXPECT_TRUE(pass.lower() == kUnreachable);
}

/// 0 -> 1 -> 2 and 0 -> 2: the result of 0 is read by 2, which does not stand right after it. 0 and 1 cost nothing on
/// the host, 2 nothing on the device and 20 on the host. The best plan has it on the device: 4 + 4 for what it reads, 5
/// back.
place::Problem skipped_problem() {
  Sketch sketch(3, {{0, 1}, {1, 2}, {0, 2}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const place::FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 4);
  sketch.convert(device, 0, 5);
  sketch.add({0}, 0);
  sketch.add({1}, 0);
  sketch.add({2}, 0, npu, device);
  sketch.add({2}, 20);
  return sketch.problem;
}

TEST(ChainPass, AReaderFartherAwayCountsByItsPrice) {
  // Without a price nothing says that the run on the device reads it there: the copy is left out.
  Round round(skipped_problem());
  EXPECT_EQ(round.lower(), 9);
  round.multipliers.prices = {{1, 2, 1, ps(4)}};
  EXPECT_EQ(round.lower(), 13);
}

TEST(ChainPass, NoPriceShowsMoreThanIsTrue) {
  Round round(skipped_problem());
  ASSERT_EQ(place::search_optimal(round.file.problem).value().cost, ps(13));
  for (int64_t price = -30; price <= 30; ++price) {
    if (price != 0) round.multipliers.prices = {{1, 2, 1, ps(price)}};
    EXPECT_LE(round.lower(), 13) << price;
    EXPECT_LE(round.lower_with().back(), 20) << price;
  }
}

TEST(ChainPass, ACandidateOfSeveralRunsPaysForThemInParts) {
  // {0, 2} around 1 is two runs: without shares it pays by length, 6 for each of two nodes. Alone they are 5 and 7.
  Sketch sketch(3, {});
  sketch.add({0, 2}, 12);
  sketch.add({0}, 5);
  sketch.add({2}, 7);
  sketch.add({1}, 1);
  Round round(sketch.problem);
  EXPECT_EQ(round.lower(), 5 + 1 + 6);  // a run alone is no plan: the bound is below 13
  round.multipliers.shares = {{0, {ps(5), ps(7)}}};
  EXPECT_EQ(round.lower(), 5 + 1 + 7);
  EXPECT_EQ(round.lower_with().front(), 13);
}

TEST(ChainPass, NoMultipliersShowMoreThanIsTrue) {
  // {0, 2} with all kinds of shares; the best plan costs 12.
  Sketch sketch(3, {});
  sketch.add({0, 2}, 11);
  sketch.add({0}, 5);
  sketch.add({2}, 7);
  sketch.add({1}, 1);
  const int64_t best = place::search_optimal(sketch.problem).value().cost.count();
  ASSERT_EQ(best, 12);
  Round round(sketch.problem);
  for (int64_t first = -20; first <= 30; ++first) {
    round.multipliers.shares = {{0, {ps(first), ps(11 - first)}}};
    EXPECT_LE(round.lower(), best) << first;
    EXPECT_LE(round.lower_with().front(), best) << first;
  }
}

TEST(ChainPass, SharesAreOfEachRunOnce) {
  Round round(chain_problem());
  round.multipliers.shares = {{0, {ps(5), ps(5)}}};
  EXPECT_EQ(round.refused(), "candidate 0 (r on host) has 2 shares and 1 runs");
  round.multipliers.shares = {{0, {ps(10)}}, {0, {ps(10)}}};
  EXPECT_EQ(round.refused(), "candidate 0 (r on host) has shares twice");
  round.file.problem.candidates[0].cost = place::Cost::max();
  round.multipliers.shares = {{0, {ps(10)}}};
  EXPECT_EQ(round.refused(), "candidate 0 (r on host) has shares and no cost");
}

TEST(ChainPass, PricesArePaidByReadersFartherAway) {
  Round round(skipped_problem());
  const auto with_price = [&](ProblemValueId value, NodeId reader) {
    round.multipliers.prices = {{value, reader, 1, ps(1)}};
    return round.refused();
  };
  EXPECT_EQ(with_price(1, 2), "");
  EXPECT_EQ(with_price(1, 1), "a price for value `%v1` read by `%n1`: a reader right after the writer pays nothing");
  EXPECT_EQ(with_price(0, 0), "a price for value `%v0` read by `%n0`: readers of model inputs pay nothing");
  EXPECT_EQ(with_price(2, 1), "a price for value `%v2` read by `%n1`: it does not read it");
  round.multipliers.prices = {{1, 2, 1, ps(1)}, {1, 2, 1, ps(1)}};
  EXPECT_EQ(round.refused(), "a price for value `%v1` read by `%n2`: it stands there twice");
}

}  // namespace
}  // namespace collage::certificate
