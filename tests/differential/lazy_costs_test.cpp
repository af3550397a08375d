// SPDX-License-Identifier: Apache-2.0
// Lazy measuring on random problems against measuring everything: the same plan, with fewer questions. And plans that
// stay while costs are measured again, each time with other noise. COLLAGE_RANDOM_ROUNDS scales the number of problems
// (in percent).
#include "compiler/place/costs/lazy_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "compiler/place/costs/noise.h"
#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/compiler/place/problem_sketch.h"
#include "tests/unit/rounds.h"

namespace collage::place {
namespace {

using testing::rounds;
Duration times(Duration duration, double factor) {
  return Duration::picoseconds(static_cast<int64_t>(static_cast<double>(duration.ps()) * factor));
}

/// A problem of which no cost is known. Candidates of one owner that cost the same are one measurement, and conversions
/// between the same formats.
class FakeMachine {
 public:
  /// `ratio`: from a cost to its floor.
  template <typename Ratio>
  FakeMachine(const Problem& problem, Ratio ratio) : open_problem(problem) {
    std::map<std::tuple<int, int, int64_t>, OpenCostId> items;
    const auto item_of = [&](int a, int b, Duration cost) {
      const auto [at, is_new] = items.emplace(std::tuple(a, b, cost.ps()), costs_.next_id());
      if (is_new) {
        costs_.push_back(cost);
        // Infinite costs are too large for exact arithmetic.
        const Duration floor = cost < Duration::max() ? times(cost, ratio()) : Duration();
        open.items.push_back({floor, 0, {}, false, {static_cast<double>(floor.ps()), 0}});
      }
      return at->second;
    };
    for (const Candidate& candidate : problem.candidates) {
      open.of_candidate.push_back(item_of(-1, candidate.owner.index, candidate.cost.time()));
    }
    for (const ProblemValue& value : problem.values) {
      std::vector<OpenCostId> edges;
      for (const ConversionEdge& edge : value.conversions) {
        edges.push_back(item_of(edge.from.index, edge.to.index, edge.cost.time()));
      }
      open.of_conversion.push_back(std::move(edges));
    }
    cannot_run.resize(costs_.size());
  }

  std::optional<Solution> run(const LazyOptions& options) {
    for (;;) {
      last.reset();
      const LazyOutcome outcome = measure_best_plans(
          &open_problem, &open, [&](const Problem& problem, bool is_probe) { return solve(problem, is_probe); },
          [&](const std::vector<OpenCostId>& items) { return ask(items); }, options);
      below += outcome.below;
      could_save = outcome.could_save;
      if (outcome.finished || outcome.asked == 0) return solve(open_problem, false);
    }
  }

  size_t distinct() const { return costs_.size(); }

  Problem open_problem;
  OpenCosts open;
  Table<OpenCostId, bool> cannot_run;
  std::set<OpenCostId> asked;
  size_t below = 0;
  double could_save = 0;
  std::optional<Solution> last;

 private:
  std::optional<Solution> solve(const Problem& problem, bool is_probe) {
    SearchOptions options;
    if (is_probe) options.max_states = 1;
    last = search_optimal(problem, options);
    return last;
  }

  std::vector<std::optional<Duration>> ask(const std::vector<OpenCostId>& items) {
    std::vector<std::optional<Duration>> answers;
    for (OpenCostId item : items) {
      EXPECT_TRUE(asked.insert(item).second) << "asked twice for " << item.index;
      answers.push_back(cannot_run[item] ? std::nullopt : std::optional(costs_[item]));
    }
    return answers;
  }

  Table<OpenCostId, Duration> costs_;
};

LazyOptions floors_alone() {
  LazyOptions options;
  options.fits = false;
  return options;
}

struct Tally {
  size_t asked = 0, distinct = 0, below = 0, problems = 0;
  int64_t found = 0, best = 0;  ///< costs of all plans
};

/// Problems with random floors; `fails` says which candidates cannot run.
template <typename MakeRatio>
Tally compare(uint64_t first_seed, uint64_t count, const LazyOptions& options, MakeRatio make_ratio,
              int percent_failing = 0) {
  Tally tally;
  for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    RandomSource random(seed);
    Problem problem = random_problem(random, 1 + random.below(9u));
    FakeMachine machine(problem, [&] { return make_ratio(random); });
    for (CandidateId c : problem.candidates.ids()) {
      const bool is_spare = problem.candidates[c].owner == OwnerId(0);
      if (!is_spare && random.chance(percent_failing)) machine.cannot_run[machine.open.of_candidate[c]] = true;
    }
    for (CandidateId c : problem.candidates.ids()) {
      if (machine.cannot_run[machine.open.of_candidate[c]]) problem.candidates[c].cost = Cost::max();
    }
    const std::optional<Solution> expected = search_optimal(problem);
    const std::optional<Solution> found = machine.run(options);
    EXPECT_EQ(found.has_value(), expected.has_value()) << "seed " << seed;
    if (!found || !expected) continue;
    const int64_t cost = std::get<Cost>(evaluate(problem, *found)).count();
    tally.found += cost;
    tally.best += expected->cost.count();
    for (CandidateId c : found->chosen)
      EXPECT_TRUE(machine.asked.contains(machine.open.of_candidate[c])) << "seed " << seed;
    EXPECT_LE(machine.could_save, options.tolerance) << "seed " << seed;
    // Bounds that are fitted may hide a plan; floors do not.
    if (!options.fits) {
      EXPECT_EQ(found->cost.count(), cost) << "seed " << seed;
      EXPECT_EQ(cost, expected->cost.count()) << "seed " << seed;
      EXPECT_EQ(found->chosen, expected->chosen) << "seed " << seed;
    }
    tally.asked += machine.asked.size();
    tally.distinct += machine.distinct();
    tally.below += machine.below;
    ++tally.problems;
    if (::testing::Test::HasFailure()) return tally;
  }
  return tally;
}

double between(RandomSource& random, double low, double high) {
  return low + (high - low) * random.below(1001) / 1000;
}

TEST(LazyCosts, TheSamePlanAsMeasuringEverything) {
  const Tally tally =
      compare(0, rounds(1'500), floors_alone(), [](RandomSource& random) { return between(random, 0.4, 1); });
  EXPECT_EQ(tally.below, 0u);
  EXPECT_LT(tally.asked, tally.distinct * 3 / 4) << tally.distinct;
}

TEST(LazyCosts, ExactFloorsNeedThePlanAlone) {
  const Tally tally = compare(10'000, rounds(300), floors_alone(), [](RandomSource&) { return 1.0; });
  EXPECT_LT(tally.asked, tally.distinct / 2) << tally.distinct;
}

TEST(LazyCosts, NoFloorsAtAll) {
  compare(20'000, rounds(300), floors_alone(), [](RandomSource&) { return 0.0; });
}

TEST(LazyCosts, WhatIsKnownOfAKindSavesQuestions) {
  const auto low = [](RandomSource& random) { return 1 / between(random, 6, 11); };
  const Tally alone = compare(30'000, rounds(500), floors_alone(), low);
  const Tally learning = compare(30'000, rounds(500), {}, low);
  EXPECT_LT(learning.asked, alone.asked);
  EXPECT_LE(static_cast<double>(learning.found), 1.005 * static_cast<double>(learning.best));
  LazyOptions tolerant;
  tolerant.tolerance = 0.1;
  const Tally careless = compare(30'000, rounds(500), tolerant, low);
  EXPECT_LT(careless.asked, learning.asked);
  EXPECT_LE(static_cast<double>(careless.found), 1.1 * static_cast<double>(careless.best));
}

TEST(LazyCosts, BoundsThatAreTooHighAreLowered) {
  const Tally tally = compare(40'000, rounds(500), {}, [](RandomSource&) { return 3.0; });
  EXPECT_GE(tally.below, tally.problems / 2);
  EXPECT_LE(static_cast<double>(tally.found), 1.005 * static_cast<double>(tally.best));
}

TEST(LazyCosts, WhatCannotRunDropsOut) {
  compare(
      50'000, rounds(800), floors_alone(), [](RandomSource& random) { return between(random, 0.4, 1); }, 20);
}

// ---- noise ----

TEST(Noise, SharedPartsCancelOut) {
  const auto ps = [](int64_t n) { return Duration::picoseconds(n); };
  const MeasuredPart a{0, ps(3'000'000)}, b{1, ps(4'000'000)}, c{2, ps(12'000'000)};
  EXPECT_EQ(noise_between({a, b}, {a, b}), ps(0));
  EXPECT_EQ(noise_between({a, b}, {}), ps(5'000'000));
  EXPECT_EQ(noise_between({a, c}, {b, c}), ps(5'000'000));
  EXPECT_EQ(noise_between({b, b, b}, {b}), ps(8'000'000));
  // Without a measurement in common each stands for itself.
  EXPECT_EQ(noise_between({{-1, ps(3'000'000)}}, {{-1, ps(4'000'000)}}), ps(5'000'000));
}

/// Twelve nodes in a row, each alone on one of two libraries that take the same time but for a little.
Problem two_alike() {
  std::vector<Sketch::Edge> edges;
  for (NodeId node : IdRange<NodeId>(1, 12)) edges.push_back({advance(node, -1), node});
  Sketch sketch(12, edges);
  const OwnerId other = sketch.add_owner("other", "host");
  for (NodeId node : sketch.problem.nodes()) {
    sketch.add({node}, 1'000'000 + 1'000 * (node.index % 3), 0);
    sketch.add({node}, 1'002'000 - 500 * (node.index % 4), other);
  }
  return sketch.problem;
}

TEST(Noise, TwentyCompilationsKeepThePlan) {
  const Problem truth = two_alike();
  constexpr double kSpread = 50'000;
  std::mt19937_64 engine(7);
  const auto measured = [&] {
    // Half of the runs lie within the spread, whose quartiles are 0.674 standard deviations from the median.
    std::normal_distribution<double> noise(0, kSpread / 2 / 0.674);
    Problem problem = truth;
    for (Candidate& candidate : problem.candidates) {
      // The median of nine runs is a third as uncertain as one.
      candidate.cost += ps(static_cast<int64_t>(noise(engine) / 3));
    }
    return problem;
  };
  const auto parts = [&](const Solution& solution) {
    std::vector<MeasuredPart> list;
    for (CandidateId c : solution.chosen)
      list.push_back({c.index, Duration::picoseconds(static_cast<int64_t>(kSpread))});
    return list;
  };
  std::optional<Solution> saved = search_optimal(measured());
  ASSERT_TRUE(saved);
  const std::vector<CandidateId> first = saved->chosen;
  size_t others = 0;
  for (int compilation = 0; compilation < 20; ++compilation) {
    const Problem problem = measured();
    const std::optional<Solution> best = search_optimal(problem);
    ASSERT_TRUE(best);
    others += best->chosen != saved->chosen ? 1 : 0;
    const Cost kept = std::get<Cost>(evaluate(problem, *saved));
    if ((kept - best->cost).time() > noise_between(parts(*saved), parts(*best))) saved = best;
    EXPECT_EQ(saved->chosen, first) << "compilation " << compilation;
  }
  // The search alone would have gone to and fro.
  EXPECT_GT(others, 10u);
  // What is better by more than the noise is taken.
  Problem faster = truth;
  for (Candidate& candidate : faster.candidates) {
    if (candidate.owner == OwnerId(1)) candidate.cost = Cost::time(times(candidate.cost.time(), 0.8));
  }
  const std::optional<Solution> best = search_optimal(faster);
  ASSERT_TRUE(best);
  EXPECT_GT((std::get<Cost>(evaluate(faster, *saved)) - best->cost).time(), noise_between(parts(*saved), parts(*best)));
}

}  // namespace
}  // namespace collage::place
