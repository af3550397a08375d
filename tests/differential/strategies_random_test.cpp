// SPDX-License-Identifier: Apache-2.0
// The exact search against every simpler way to decide, on random problems: it is never more expensive (B18 of BYOC's
// list, success metric 3 of RFC 62). COLLAGE_RANDOM_ROUNDS scales the number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/place/baselines/evolve.h"
#include "compiler/place/baselines/merge_search.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/solve.h"
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
  const runtime::Result<Solution> found = solve(problem, strategy);
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
    for (const Strategy& policy : policy_strategies()) expect_never_cheaper(problem, policy, seed);
    for (size_t least : {size_t{1}, size_t{2}}) {
      expect_never_cheaper(problem, {Kind::Litert, {}, {3, least}}, seed);
      expect_never_cheaper(problem, {Kind::TorchTensorrt, {}, {least}}, seed);
    }
  }
}

/// The problem without the candidates of a backend.
Problem without(const Problem& problem, const std::string& backend) {
  Problem part = problem;
  std::erase_if(part.candidates.items(),
                [&](const Candidate& candidate) { return problem.owners[candidate.owner].backend == backend; });
  return part;
}

/// Counts of partitions, conflicts and memory together: no simpler strategy is cheaper, and neither is the best plan
/// without one of the backends. Larger problems than brute force can judge, and with budgets too small for a proof.
TEST(StrategiesRandom, NeverWorseUnderEveryLimit) {
  uint64_t binding = 0, unproven = 0;
  for (uint64_t seed = 0; seed < rounds(100); ++seed) {
    RandomSource random(65'000'000 + seed);
    const size_t nodes = 6 + random.below(35u);
    Problem problem = seed % 2 == 0 ? device_problem(random, nodes) : random_problem(random, nodes);
    for (Owner& owner : problem.owners) {
      owner.memory.reset();
      if (owner.backend != "host" && owner.members.empty()) owner.max_partitions = 1 + static_cast<int>(seed % 5);
    }
    const std::optional<Solution> free = search_optimal(problem);
    add_memory(random, problem);
    SearchOptions options;
    if (seed % 3 == 0) options.max_states = 200 + random.below(2'000u);
    const runtime::Result<Solution> best = solve(problem, {Kind::Optimal, {}}, options);
    ASSERT_TRUE(best) << seed;
    const Verdict verdict = evaluate(problem, *best);
    ASSERT_TRUE(std::holds_alternative<Cost>(verdict)) << seed << ": " << std::get<std::string>(verdict);
    ASSERT_EQ(std::get<Cost>(verdict).count(), best->cost.count()) << seed;
    ASSERT_LE(best->bound, best->cost) << seed;
    binding += best->cost > free->cost ? 1 : 0;
    unproven += best->optimal ? 0 : 1;
    std::vector<Strategy> others = {{Kind::Greedy, {}}, {Kind::Eager, {}}, {Kind::Merge, {}}, {Kind::Single, {"host"}}};
    for (const std::string& backend : backends_of(problem)) others.push_back({Kind::Single, {backend}});
    for (const Strategy& other : others) {
      const runtime::Result<Solution> found = solve(problem, other, options);
      if (!found) continue;
      const Verdict judged = evaluate(problem, *found);
      ASSERT_TRUE(std::holds_alternative<Cost>(judged))
          << to_string(other) << " seed " << seed << ": " << std::get<std::string>(judged);
      ASSERT_GE(found->cost, best->cost) << to_string(other) << " seed " << seed;
    }
    for (const std::string& backend : backends_of(problem)) {
      const std::optional<Solution> found = search_optimal(without(problem, backend), options);
      ASSERT_TRUE(!found || found->cost >= best->cost) << "without " << backend << " seed " << seed;
      ASSERT_TRUE(!found || found->cost >= best->bound) << "without " << backend << " seed " << seed;
    }
  }
  EXPECT_GT(binding, rounds(100) / 4);
  RecordProperty("unproven", static_cast<int>(unproven));
}

TEST(StrategiesRandom, OneBackendIsNeverWorseThanItsOwnPartitioning) {
  for (uint64_t seed = 0; seed < rounds(400); ++seed) {
    RandomSource random(62'000'000 + seed);
    const Problem whole = random_problem(random, 3 + random.below(8u));
    for (const std::string& backend : backends_of(whole)) {
      const Problem problem = only(whole, backend);
      expect_never_cheaper(problem, {Kind::Priority, {backend}}, seed);
      expect_never_cheaper(problem, {Kind::Merge, {}}, seed);
      for (const Strategy& policy : policy_strategies()) expect_never_cheaper(problem, policy, seed);
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
