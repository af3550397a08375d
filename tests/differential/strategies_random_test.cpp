// SPDX-License-Identifier: Apache-2.0
// The exact search against every simpler way to decide, on random problems: it is never more expensive (B18 of BYOC's list,
// success metric 3 of RFC 62). COLLAGE_RANDOM_ROUNDS scales the number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/place/baselines/evolve.h"
#include "compiler/place/baselines/merge_search.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/strategies.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/rounds.h"

namespace collage::place {
namespace {

using testing::rounds;
using Kind = Strategy::Kind;

std::vector<std::string> backends_of(const Problem& problem) {
  std::set<std::string> names;
  for (const Owner& owner : problem.owners) {
    if (owner.backend != "host") names.insert(owner.backend);
  }
  return {names.begin(), names.end()};
}

/// Only what these backends and the host have.
Problem only(const Problem& problem, const std::string& backend) {
  Problem part = problem;
  std::erase_if(part.candidates.items(), [&](const Candidate& candidate) {
    const std::string& name = problem.owners[candidate.owner].backend;
    return name != backend && name != "host";
  });
  return part;
}

void expect_never_cheaper(const Problem& problem, const Strategy& strategy, uint64_t seed) {
  const std::optional<Solution> best = search_optimal(problem);
  ASSERT_TRUE(best.has_value() && best->optimal) << seed;
  std::string why;
  const std::optional<Solution> found = solve(problem, strategy, {}, &why);
  if (!found) {
    ASSERT_FALSE(strategy.kind != Kind::Tvm) << to_string(strategy) << " seed " << seed;
    return;
  }
  const Verdict verdict = evaluate(problem, *found);
  ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << seed << ": " << std::get<std::string>(verdict);
  ASSERT_EQ(std::get<Cost>(verdict).count(), found->cost.count()) << to_string(strategy) << " seed " << seed;
  ASSERT_GE(found->cost, best->cost) << to_string(strategy) << " seed " << seed;
}

TEST(StrategiesRandom, EveryOrderOfPriorityAndEveryBackendAlone) {
  for (uint64_t seed = 0; seed < rounds(400); ++seed) {
    RandomSource random(61'000'000 + seed);
    const Problem problem = random_problem(random, 3 + random.below(8u));
    std::vector<std::string> order = backends_of(problem);
    for (const std::string& backend : order) expect_never_cheaper(problem, {Kind::Single, {backend}}, seed);
    do {
      expect_never_cheaper(problem, {Kind::Priority, order}, seed);
    } while (std::next_permutation(order.begin(), order.end()));
    for (Kind kind : {Kind::Greedy, Kind::Eager, Kind::Merge, Kind::Tvm})
      expect_never_cheaper(problem, {kind, {}}, seed);
  }
}

TEST(StrategiesRandom, OneBackendIsNeverWorseThanItsOwnPartitioning) {
  for (uint64_t seed = 0; seed < rounds(400); ++seed) {
    RandomSource random(62'000'000 + seed);
    const Problem whole = random_problem(random, 3 + random.below(8u));
    for (const std::string& backend : backends_of(whole)) {
      const Problem problem = only(whole, backend);
      expect_never_cheaper(problem, {Kind::Priority, {backend}}, seed);
      expect_never_cheaper(problem, {Kind::Merge, {}}, seed);
    }
  }
}

/// Contracting the regions leaves no cycle.
TEST(StrategiesRandom, MergedRegionsAreAcyclic) {
  for (uint64_t seed = 0; seed < rounds(400); ++seed) {
    RandomSource random(63'000'000 + seed);
    const Problem problem = random_problem(random, 3 + random.below(10u));
    const Table<NodeId, MergedRegionId> regions = merged_regions(problem);
    const size_t count = std::max_element(regions.begin(), regions.end())->slot() + 1;
    Table<MergedRegionId, std::set<MergedRegionId>> after(count);
    Table<MergedRegionId, size_t> waiting(count);
    for (const ProblemValue& value : problem.values) {
      if (!value.writer.is_valid()) continue;
      const MergedRegionId from = regions[value.writer];
      for (NodeId reader : value.readers) {
        const MergedRegionId to = regions[reader];
        if (from != to && after[from].insert(to).second) ++waiting[to];
      }
    }
    std::vector<MergedRegionId> ready;
    for (MergedRegionId r : waiting.ids()) {
      if (waiting[r] == 0) ready.push_back(r);
    }
    for (size_t next = 0; next < ready.size(); ++next) {
      for (MergedRegionId to : after[ready[next]]) {
        if (--waiting[to] == 0) ready.push_back(to);
      }
    }
    ASSERT_EQ(ready.size(), count) << seed;
  }
}

/// Whatever a genome says, its plan holds; by the predicted costs none is cheaper than the exact plan.
TEST(StrategiesRandom, GenomesArePlans) {
  uint64_t plans = 0;
  for (uint64_t seed = 0; seed < rounds(200); ++seed) {
    RandomSource random(64'000'000 + seed);
    const Problem problem = random_problem(random, 3 + random.below(8u));
    const std::optional<Solution> best = search_optimal(problem);
    ASSERT_TRUE(best.has_value()) << seed;
    const PlanGenes genes(problem, *best);
    ASSERT_EQ(genes.plan_of(Genome(best->chosen.size(), 0), {})->chosen, best->chosen) << seed;
    for (int i = 0; i < 10; ++i) {
      Genome genome;
      for (size_t choices : genes.choices()) genome.emplace_back(random.below(choices));
      const std::optional<Solution> plan = genes.plan_of(genome, {});
      if (!plan) continue;
      ++plans;
      const Verdict verdict = evaluate(problem, *plan);
      ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << seed << ": " << std::get<std::string>(verdict);
      ASSERT_GE(std::get<Cost>(verdict), best->cost) << seed;
    }
  }
  EXPECT_GT(plans, rounds(200));
}

}  // namespace
}  // namespace collage::place
