// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/parallel_search.h"

#include <gtest/gtest.h>

#include <atomic>

#include "compiler/place/objectives/objective.h"
#include "tests/unit/compiler/place/schedule/two_devices.h"

namespace collage::place {
namespace {

/// Two chains of two nodes, 10 each on the host and on the device.
struct TwoChains : WithDevice {
  TwoChains() : WithDevice(4, {{0, 1}, {2, 3}}) {
    add_singletons(10);
    add_singletons(10, npu, device);
  }

  ParallelResult search(const ScheduleValue& objective, const std::vector<Solution>& others = {},
                        const std::function<bool(const Solution&)>& fits = {}) const {
    return search_parallel(problem, machine(), objective, search_optimal(problem).value(), others, {}, fits);
  }
  ParallelResult makespan(const std::function<bool(const Solution&)>& fits = {}) const {
    return search(*objective_makespan.schedule, {}, fits);
  }
  /// The least value of all solutions.
  Duration least(const ScheduleValue& objective) const {
    SolutionScheduler scheduler(problem, machine());
    Duration least = Duration::max();
    for_each_solution(problem, [&](const Solution& solution) {
      least = std::min(least, objective.value(scheduler.tasks(solution.chosen).value()));
    });
    return least;
  }
};

TEST(ParallelSearch, OneChainGoesToTheDevice) {
  // Beside 20 on the host: 4 + 20 + 5.
  const TwoChains chains;
  const ParallelResult found = chains.makespan();
  EXPECT_EQ(found.value.time(), picoseconds(29));
  EXPECT_EQ(found.value.time(), chains.least(*objective_makespan.schedule));
  EXPECT_LE(found.bound, found.value);
  EXPECT_GE(found.bound.time(), picoseconds(20));  // the path of a chain, on the host
  EXPECT_EQ(found.solution.cost, ps(20 + 4 + 20 + 5));
}

TEST(ParallelSearch, ThroughputIsTheBusiestResource) {
  const TwoChains chains;
  const ParallelResult found = chains.search(*objective_throughput.schedule);
  EXPECT_EQ(found.value.time(), chains.least(*objective_throughput.schedule));
  EXPECT_LT(found.value.time(), picoseconds(40));
  EXPECT_LE(found.bound, found.value);
}

TEST(ParallelSearch, LimitsAreKept) {
  TwoChains chains;
  chains.problem.owners[chains.npu].max_partitions = 0;
  EXPECT_EQ(chains.makespan().value.time(), picoseconds(40));
  chains.problem.owners[chains.npu].max_partitions = 1;
  const ParallelResult one = chains.makespan();
  EXPECT_EQ(one.value.time(), chains.least(*objective_makespan.schedule));
  EXPECT_TRUE(std::holds_alternative<Cost>(evaluate(chains.problem, one.solution)));
}

TEST(ParallelSearch, LimitsRaiseTheBound) {
  TwoChains chains;
  chains.problem.owners[chains.npu].max_partitions = 0;
  EXPECT_EQ(chains.makespan().bound.time(), picoseconds(40));
}

TEST(ParallelSearch, WhatDoesNotFitIsNotTaken) {
  const TwoChains chains;
  const ParallelResult found = chains.makespan([](const Solution&) { return false; });
  EXPECT_EQ(found.solution.chosen, (std::vector<CandidateId>{0, 1, 2, 3}));
  EXPECT_EQ(found.value.time(), picoseconds(40));
}

TEST(ParallelSearch, IsNotWorseThanWhatItIsGiven) {
  const TwoChains chains;
  Solution other;
  other.chosen = {0, 1, 6, 7};
  const ParallelResult found = chains.search(*objective_makespan.schedule, {other});
  EXPECT_LE(found.value.time(), picoseconds(29));
}

TEST(ParallelSearch, AStopLeavesTheStart) {
  const TwoChains chains;
  const std::atomic<bool> stop{true};
  SearchOptions options;
  options.stop = &stop;
  const Solution start = search_optimal(chains.problem).value();
  const ParallelResult found =
      search_parallel(chains.problem, TwoChains::machine(), *objective_makespan.schedule, start, {}, options);
  EXPECT_EQ(found.solution.chosen, start.chosen);
  EXPECT_LE(found.bound, found.value);
}

TEST(ParallelSearch, FindsTheBestOfSmallProblemsAndProvesNoMore) {
  int best = 0, proven = 0;
  constexpr int kProblems = 20;
  for (uint64_t seed = 0; seed < kProblems; ++seed) {
    const WithDevice sketch = random_sketch(1000 + seed);
    SolutionScheduler scheduler(sketch.problem, WithDevice::machine());
    Duration least = Duration::max();
    for_each_solution(sketch.problem, [&](const Solution& solution) {
      const std::vector<runtime::Task> tasks = scheduler.tasks(solution.chosen).value();
      least = std::min(least, makespan(reordered(tasks, good_order(tasks))));
    });
    const ParallelResult found = search_parallel(sketch.problem, WithDevice::machine(), *objective_makespan.schedule,
                                                 search_optimal(sketch.problem).value());
    EXPECT_GE(found.value.time(), least) << seed;
    EXPECT_LE(found.bound.time(), least) << seed;
    best += found.value.time() == least ? 1 : 0;
    proven += found.bound.time() == least ? 1 : 0;
  }
  EXPECT_GE(best, kProblems - 1);
  EXPECT_GE(proven, kProblems / 2);
}

}  // namespace
}  // namespace collage::place
