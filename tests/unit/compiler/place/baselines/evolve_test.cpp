// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/baselines/evolve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "compiler/place/exact/optimal_search.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// Distance to a hidden genome, in seconds.
double distance(const Genome& genome, const Genome& goal) {
  double sum = 1;
  for (size_t i = 0; i < goal.size(); ++i) sum += genome[i] == goal[i] ? 0 : 1;
  return sum;
}

TEST(Evolve, FindsTheBest) {
  const std::vector<size_t> choices(12, 3);
  const Genome goal{1, 0, 2, 1, 0, 0, 2, 2, 1, 0, 1, 2};
  EvolveOptions options;
  options.evaluations = 2'000;
  const Evolved found = evolve(
      choices, {Genome(12, 0)}, [&](const Genome& genome) { return distance(genome, goal); }, options);
  EXPECT_EQ(found.best, goal);
  EXPECT_EQ(found.fitness, 1);
  EXPECT_LE(found.evaluations, 2'000);
}

TEST(Evolve, EqualMeasurementsGiveEqualResults) {
  const auto run = [] {
    std::vector<Genome> measured;
    EvolveOptions options;
    options.evaluations = 60;
    evolve(
        std::vector<size_t>(8, 4), {Genome(8, 0)},
        [&](const Genome& genome) {
          measured.push_back(genome);
          return distance(genome, Genome(8, 3));
        },
        options);
    return measured;
  };
  EXPECT_EQ(run(), run());
}

TEST(Evolve, NoGenomeIsMeasuredTwiceAndTheBudgetHolds) {
  std::multiset<Genome> measured;
  EvolveOptions options;
  options.evaluations = 40;
  const Evolved found = evolve(
      std::vector<size_t>(6, 2), {Genome(6, 0), Genome(6, 1)},
      [&](const Genome& genome) {
        measured.insert(genome);
        return distance(genome, Genome(6, 1));
      },
      options);
  EXPECT_EQ(measured.size(), static_cast<size_t>(found.evaluations));
  EXPECT_LE(measured.size(), 40u);
  for (const Genome& genome : measured) EXPECT_EQ(measured.count(genome), 1u);
}

TEST(Evolve, EndsWhereNothingIsLeftToTry) {
  EvolveOptions options;
  options.evaluations = 1'000;
  const Evolved found = evolve(
      {2, 1, 2}, {{0, 0, 0}}, [](const Genome&) { return 1.0; }, options);
  EXPECT_EQ(found.best, (Genome{0, 0, 0}));  // of equal ones the first
  EXPECT_LE(found.evaluations, 4);
}

TEST(Evolve, WhatDoesNotRunNeverWins) {
  const double never = std::numeric_limits<double>::infinity();
  EvolveOptions options;
  options.evaluations = 50;
  const Evolved found = evolve(
      std::vector<size_t>(5, 2), {Genome(5, 0)},
      [&](const Genome& genome) { return genome[0] == ChoiceId(1) ? never : distance(genome, Genome(5, 1)); }, options);
  EXPECT_EQ(found.best[0], ChoiceId(0));
  EXPECT_TRUE(std::isfinite(found.fitness));
}

TEST(Evolve, APlanWithoutPartitions) {
  const Evolved found = evolve({}, {{}}, [](const Genome&) { return 2.0; }, {});
  EXPECT_EQ(found.evaluations, 1);
  EXPECT_EQ(found.fitness, 2);
}

/// {0, 1} on the library; each node has the host, too, and the npu has both.
class PlanGenome : public testing::Test {
 protected:
  PlanGenome() : sketch_(3, {{0, 1}, {1, 2}}) {
    lib_ = sketch_.add_owner("lib", "host");
    npu_ = sketch_.add_owner("npu", "npu[0]");
    const FormatId device = sketch_.add_format("npu[0]");
    sketch_.convert(0, device, 2);
    sketch_.convert(device, 0, 2);
    sketch_.add_singletons(5);
    sketch_.add({0, 1}, 1, lib_);
    sketch_.add({0}, 4, lib_);
    sketch_.add({1}, 4, lib_);
    sketch_.add({0, 1}, 3, npu_, device);
    sketch_.add({2}, 7, npu_, device);
    sketch_.add({0, 1, 2}, 9, npu_, device);
    plan_ = search_optimal(sketch_.problem).value();
  }
  Sketch sketch_;
  OwnerId lib_;
  OwnerId npu_;
  Solution plan_;
};

TEST_F(PlanGenome, APartitionStaysIsTakenApartOrMoves) {
  EXPECT_EQ(plan_.cost.count(), 1 + 5);
  const PlanGenes genes(sketch_.problem, plan_);
  EXPECT_EQ(genes.choices(), (std::vector<size_t>{4, 2}));  // stay, host, apart, npu; stay, npu
  EXPECT_EQ(genes.plan_of({0, 0}, {})->cost.count(), 1 + 5);
  EXPECT_EQ(genes.plan_of({1, 0}, {})->cost.count(), 5 + 5 + 5);
  EXPECT_EQ(genes.plan_of({2, 0}, {})->cost.count(), 4 + 4 + 5);
  EXPECT_EQ(genes.plan_of({3, 0}, {})->cost.count(), 2 + 3 + 2 + 5);
}

TEST_F(PlanGenome, NeighboursThatMoveMayMerge) {
  const PlanGenes genes(sketch_.problem, plan_);
  const std::optional<Solution> both = genes.plan_of({3, 1}, {});
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->cost.count(), 2 + 9 + 2);
  EXPECT_EQ(chosen_sets(sketch_.problem, *both), (std::set<std::vector<NodeId>>{{0, 1, 2}}));
}

TEST_F(PlanGenome, AnotherPlanAsAGenome) {
  const PlanGenes genes(sketch_.problem, plan_);
  EXPECT_EQ(genes.like(plan_), (Genome{0, 0}));
  EXPECT_EQ(genes.like(genes.plan_of({3, 1}, {}).value()), (Genome{3, 1}));
  EXPECT_EQ(genes.like(genes.plan_of({1, 0}, {}).value()), (Genome{1, 0}));
}

}  // namespace
}  // namespace collage::place
