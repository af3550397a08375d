// SPDX-License-Identifier: Apache-2.0
// Makespan and throughput against all solutions of small random problems: the bound is below the best there is, what is
// found is not, and it is never worse than the sequential optimum at work in parallel. COLLAGE_RANDOM_ROUNDS scales the
// number of problems (in percent).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <set>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/schedule/flat_scheduler.h"
#include "compiler/place/schedule/parallel_bound.h"
#include "compiler/place/schedule/parallel_search.h"
#include "compiler/place/schedule/quick_limits.h"
#include "compiler/place/schedule/work_schedule.h"
#include "compiler/place/solve.h"
#include "tests/differential/random_problem.h"
#include "tests/unit/rounds.h"

namespace collage::place {
namespace {

using testing::rounds;
runtime::Machine random_machine(RandomSource& random) {
  runtime::Machine machine;
  for (const char* space : {"npu[0]", "npu[1]"}) machine.add_device(space, random.chance(60));
  if (random.chance(40)) {  // a switch, where copies share ports
    const bool is_duplex[] = {random.chance(50), random.chance(50), random.chance(50)};
    const char* ends[] = {"npu[0]", "npu[1]", "host"};
    for (const auto& [a, b] : {std::pair(0, 2), std::pair(1, 2), std::pair(0, 1)}) {
      machine.add_route(ends[a], ends[b], {{ends[a], "switch", is_duplex[a]}, {"switch", ends[b], is_duplex[b]}});
    }
    return machine;
  }
  machine.add_link("npu[0]", "host", random.chance(50));
  machine.add_link("npu[1]", "host", random.chance(50));
  machine.add_link("npu[0]", "npu[1]", random.chance(50));
  return machine;
}

/// Every solution once.
void for_each_solution(const Problem& problem, const std::function<void(const Solution&)>& visit) {
  Table<NodeId, bool> is_covered(problem.node_count);
  Solution solution;
  const std::function<void()> cover = [&] {
    const NodeId node(std::find(is_covered.begin(), is_covered.end(), false) - is_covered.begin());
    if (node == is_covered.next_id()) {
      const Verdict verdict = evaluate(problem, solution);
      if (std::holds_alternative<Cost>(verdict) && std::get<Cost>(verdict) < Cost::max()) visit(solution);
      return;
    }
    for (CandidateId c : problem.candidates.ids()) {
      const Candidate& candidate = problem.candidates[c];
      const auto taken = [&](NodeId n) { return is_covered[n]; };
      if (!std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node)) continue;
      if (candidate.cost >= Cost::max() || std::any_of(candidate.nodes.begin(), candidate.nodes.end(), taken)) {
        continue;
      }
      for (NodeId n : candidate.nodes) is_covered[n] = true;
      solution.chosen.push_back(c);
      cover();
      solution.chosen.pop_back();
      for (NodeId n : candidate.nodes) is_covered[n] = false;
    }
  };
  cover();
}

Problem without_limits(Problem problem) {
  for (Owner& owner : problem.owners) {
    owner.max_partitions.reset();
    owner.memory.reset();
    owner.conflicts.clear();
  }
  return problem;
}

/// Any order that respects what waits for what.
std::vector<int> random_order(RandomSource& random, const std::vector<runtime::Task>& tasks) {
  std::vector<int> order;
  std::set<int> done;
  while (order.size() < tasks.size()) {
    std::vector<int> ready;
    int next = 0;
    for (const runtime::Task& task : tasks) {
      const int t = next++;
      const auto is_done = [&](int before) { return done.contains(before); };
      if (!is_done(t) && std::all_of(task.after.begin(), task.after.end(), is_done)) ready.push_back(t);
    }
    order.push_back(random.pick(ready));
    done.insert(order.back());
  }
  return order;
}

struct Tally {
  int problems = 0;
  int found_best = 0;
  int bound_met = 0;
  int none_found = 0;  ///< where the search did not start within the limits
};

enum class Memory { Unlimited, Limited };

/// With limits, the search may also start from a solution of the problem without them.
void check(uint64_t seed, const ScheduleValue& objective, Memory memory, Tally* tally) {
  RandomSource random(seed);
  Problem problem = random_problem(random, 1 + random.below(7u));
  if (memory == Memory::Limited) add_memory(random, problem);
  const runtime::Machine machine = random_machine(random);
  std::optional<Solution> start = search_optimal(problem);
  if (!start) return;
  if (memory == Memory::Limited && random.chance(50)) start = search_optimal(without_limits(problem));
  const bool is_within = std::holds_alternative<Cost>(evaluate(problem, *start));
  const std::string name = "seed " + std::to_string(seed);
  SolutionScheduler scheduler(problem, machine);
  const ParallelResult found = search_parallel(problem, machine, objective, *start);
  const ParallelResult again = search_parallel(problem, machine, objective, *start);
  ASSERT_EQ(found.solution.chosen, again.solution.chosen) << name;
  if (is_within) {
    ASSERT_TRUE(std::holds_alternative<Cost>(evaluate(problem, found.solution))) << name;
  } else if (!std::holds_alternative<Cost>(evaluate(problem, found.solution))) {
    ASSERT_EQ(found.solution.chosen, start->chosen) << name;
    ++tally->none_found;
    return;
  }
  ASSERT_EQ(found.value.time(), objective.value(*scheduler.tasks(found.solution.chosen))) << name;
  if (is_within) {
    ASSERT_LE(found.value.time(), objective.value(*scheduler.tasks(start->chosen))) << name;
  }
  Duration best = Duration::max(), least = Duration::max();
  for_each_solution(problem, [&](const Solution& solution) {
    const std::vector<runtime::Task> tasks = *scheduler.tasks(solution.chosen);
    best = std::min(best, objective.value(tasks));
    const std::vector<Duration> busy = busy_times(tasks);
    if (!busy.empty()) least = std::min(least, *std::max_element(busy.begin(), busy.end()));
    if (!objective.is_bound_by_paths) return;
    ASSERT_LE(found.bound.time(), makespan(reordered(tasks, random_order(random, tasks)))) << name;
  });
  ASSERT_LE(found.bound.time(), best) << name;
  ASSERT_GE(found.value.time(), best) << name;
  if (!objective.is_bound_by_paths) {
    ASSERT_LE(found.bound.time(), least) << name;
  }
  ++tally->problems;
  tally->found_best += found.value.time() == best ? 1 : 0;
  tally->bound_met += found.bound.time() == best ? 1 : 0;
}

void check_all(const ScheduleValue& objective, Memory memory, uint64_t first_seed) {
  Tally tally;
  for (uint64_t seed = 0; seed < rounds(300); ++seed) {
    check(first_seed + seed, objective, memory, &tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::printf("%d problems: best found in %d, bound met in %d; nothing within limits in %d\n", tally.problems,
              tally.found_best, tally.bound_met, tally.none_found);
  EXPECT_GE(tally.found_best * 100, tally.problems * 98);
  EXPECT_GE(tally.bound_met * 100, tally.problems * 50);
  EXPECT_LE(tally.none_found * 100, tally.problems);
}

TEST(ParallelRandom, Makespan) {
  check_all(*objective_makespan.schedule, Memory::Unlimited, 7'000'000);
}

TEST(ParallelRandom, Throughput) {
  check_all(*objective_throughput.schedule, Memory::Unlimited, 8'000'000);
}

TEST(ParallelRandom, MakespanWithinMemory) {
  check_all(*objective_makespan.schedule, Memory::Limited, 9'000'000);
}

TEST(ParallelRandom, ThroughputWithinMemory) {
  check_all(*objective_throughput.schedule, Memory::Limited, 10'000'000);
}

TEST(ParallelRandom, FlatTasksTakeTheSameTime) {
  int compared = 0;
  for (uint64_t seed = 0; seed < rounds(100); ++seed) {
    RandomSource random(11'000'000 + seed);
    const Problem problem = random_problem(random, 1 + random.below(7u));
    SolutionScheduler scheduler(problem, random_machine(random));
    FlatScheduler flat(problem, scheduler);
    for_each_solution(problem, [&](const Solution& solution) {
      const std::vector<runtime::Task> tasks = *scheduler.tasks(solution.chosen);
      FlatTasks* same = flat.tasks(solution.chosen);
      ASSERT_NE(same, nullptr) << seed;
      ASSERT_EQ(same->size(), tasks.size()) << seed;
      ASSERT_EQ(same->makespan(), makespan(reordered(tasks, good_order(tasks)))) << seed;
      Duration busiest, total;
      for (Duration busy : busy_times(tasks)) busiest = std::max(busiest, busy);
      for (const runtime::Task& task : tasks) total += task.length;
      ASSERT_EQ(same->busiest(), busiest) << seed;
      ASSERT_EQ(same->total(), total) << seed;
      ++compared;
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 0);
}

/// Solutions that break limits, too.
TEST(ParallelRandom, QuickLimitsAgreeWithTheEvaluator) {
  int admitted = 0, refused = 0;
  for (uint64_t seed = 0; seed < rounds(100); ++seed) {
    RandomSource random(12'000'000 + seed);
    Problem problem = random_problem(random, 1 + random.below(7u));
    add_memory(random, problem);
    QuickLimits limits(problem);
    for_each_solution(without_limits(problem), [&](const Solution& solution) {
      const bool is_within = std::holds_alternative<Cost>(evaluate(problem, solution));
      ASSERT_EQ(limits.admits(solution.chosen), is_within) << seed;
      if (is_within) {
        ASSERT_EQ(limits.excess(solution.chosen), 0) << seed;
      }
      ++(is_within ? admitted : refused);
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(admitted, 0);
  EXPECT_GT(refused, 0);
}

TEST(ParallelRandom, NeverWorseThanWhatItIsGiven) {
  for (uint64_t seed = 0; seed < rounds(60); ++seed) {
    RandomSource random(13'000'000 + seed);
    Problem problem = random_problem(random, 8 + random.below(12u));
    add_memory(random, problem);
    const runtime::Machine machine = random_machine(random);
    const std::optional<Solution> start = search_optimal(problem);
    if (!start) continue;
    std::vector<Solution> others;
    for (const Strategy& strategy : compared_strategies(backend_names(problem))) {
      runtime::Result<Solution> other = solve(problem, strategy);
      if (other && std::holds_alternative<Cost>(evaluate(problem, *other))) others.push_back(std::move(*other));
    }
    SolutionScheduler scheduler(problem, machine);
    for (const Objective* objective : all_objectives()) {
      if (!objective->is_concurrent()) continue;
      const ParallelResult found = search_parallel(problem, machine, *objective->schedule, *start, others);
      ASSERT_TRUE(std::holds_alternative<Cost>(evaluate(problem, found.solution))) << seed;
      ASSERT_LE(found.bound, found.value) << seed;
      for (const Solution& other : others) {
        const std::optional<std::vector<runtime::Task>> tasks = scheduler.tasks(other.chosen);
        ASSERT_LE(found.value.time(), objective->schedule->value(*tasks)) << seed << " " << objective->name;
      }
    }
  }
}

TEST(ParallelRandom, AStopEndsTheSearch) {
  for (uint64_t seed = 0; seed < rounds(300); ++seed) {
    RandomSource random(7'000'000 + seed);
    const Problem problem = random_problem(random, 1 + random.below(7u));
    const runtime::Machine machine = random_machine(random);
    const std::optional<Solution> start = search_optimal(problem);
    if (!start) continue;
    std::atomic<bool> stop{false};
    SearchOptions options;
    options.stop = &stop;
    int better = 0;
    const auto fits = [&](const Solution&) {
      stop = true;
      ++better;
      return true;
    };
    const ParallelResult found =
        search_parallel(problem, machine, *objective_makespan.schedule, *start, {}, options, fits);
    ASSERT_LE(better, 2) << seed;  // the second time, the same solution once more
    ASSERT_TRUE(std::holds_alternative<Cost>(evaluate(problem, found.solution))) << seed;
    ASSERT_LE(found.bound, found.value) << seed;
  }
}

}  // namespace
}  // namespace collage::place
