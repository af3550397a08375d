// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/anneal.h"

#include <gtest/gtest.h>

#include "compiler/place/objectives/objective.h"
#include "tests/unit/compiler/place/schedule/two_devices.h"

namespace collage::place {
namespace {

using Covers = std::vector<std::vector<CandidateId>>;

/// Annealing with makespan, and what it found.
struct Annealed {
  explicit Annealed(const Problem& given, runtime::Machine machine = WithDevice::machine())
      : problem(given), scheduler(given, std::move(machine)), flat(given, scheduler), limits(given) {
    options.tasks = 20'000;
    options.temperature = 0.05;
    options.is_stopped = [] { return false; };
  }

  Covers run(const std::vector<CandidateId>& start, const Covers& others = {}) {
    return anneal(problem, flat, limits, *objective_makespan.schedule, start, others, options);
  }
  Duration makespan_of(const std::vector<CandidateId>& chosen) { return flat.tasks(chosen)->makespan(); }

  const Problem& problem;
  SolutionScheduler scheduler;
  FlatScheduler flat;
  QuickLimits limits;
  AnnealOptions options;
};

/// Four nodes beside each other, 10 each on the host and, in host memory, on a device.
struct SideBySide : Sketch {
  SideBySide() : Sketch(4, {}) {
    npu = add_owner("npu", "npu[0]");
    add_singletons(10);
    add_singletons(10, npu);
  }
  OwnerId npu;
};

TEST(Anneal, SharesOutWhatCanRunSideBySide) {
  const SideBySide sketch;
  Annealed annealed(sketch.problem);
  const Covers found = annealed.run({0, 1, 2, 3});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(annealed.makespan_of(found.back()), picoseconds(20));
}

TEST(Anneal, EachSolutionIsBetterThanTheOneBefore) {
  const SideBySide sketch;
  Annealed annealed(sketch.problem);
  Duration before = annealed.makespan_of({0, 1, 2, 3});
  for (const std::vector<CandidateId>& chosen : annealed.run({0, 1, 2, 3})) {
    const Duration now = annealed.makespan_of(chosen);
    EXPECT_LT(now, before);
    before = now;
  }
}

TEST(Anneal, FindsNothingWhereTheStartIsBest) {
  const SideBySide sketch;
  EXPECT_EQ(Annealed(sketch.problem).run({0, 1, 6, 7}), Covers());
}

TEST(Anneal, NeverReturnsWhatBreaksALimit) {
  SideBySide sketch;
  sketch.problem.owners[sketch.npu].max_partitions = 1;
  Annealed annealed(sketch.problem);
  const Covers found = annealed.run({0, 1, 2, 3});
  ASSERT_FALSE(found.empty());
  for (const std::vector<CandidateId>& chosen : found) {
    EXPECT_TRUE(annealed.limits.admits(chosen));
    EXPECT_EQ(annealed.makespan_of(chosen), picoseconds(30));
  }
}

TEST(Anneal, LeavesAStartThatBreaksLimits) {
  // All on the device, which may run one of them, and takes half as long for it.
  SideBySide sketch;
  sketch.problem.owners[sketch.npu].max_partitions = 1;
  for (CandidateId c : {CandidateId(4), CandidateId(5), CandidateId(6), CandidateId(7)}) {
    sketch.problem.candidates[c].cost = ps(5);
  }
  Annealed annealed(sketch.problem);
  const Covers found = annealed.run({4, 5, 6, 7});
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(annealed.limits.admits(found.back()));
  EXPECT_EQ(annealed.makespan_of(found.back()), picoseconds(30));
}

TEST(Anneal, MovesWhatNoSingleStepWouldMove) {
  // A chain of three: one node alone on the device costs a copy there and back more than it saves.
  WithDevice sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(6);
  sketch.add_singletons(2, sketch.npu, sketch.device);
  Annealed annealed(sketch.problem);
  const Covers found = annealed.run({0, 1, 2});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back(), (std::vector<CandidateId>{3, 4, 5}));
}

TEST(Anneal, IsTheSameEachTime) {
  const SideBySide sketch;
  EXPECT_EQ(Annealed(sketch.problem).run({0, 1, 2, 3}), Annealed(sketch.problem).run({0, 1, 2, 3}));
}

TEST(Anneal, WithoutTasksThereIsNoWork) {
  const SideBySide sketch;
  Annealed annealed(sketch.problem);
  annealed.options.tasks = 0;
  EXPECT_EQ(annealed.run({0, 1, 2, 3}), Covers());
}

TEST(Anneal, EndsOnceItIsStopped) {
  const SideBySide sketch;
  Annealed annealed(sketch.problem);
  annealed.options.is_stopped = [] { return true; };
  EXPECT_EQ(annealed.run({0, 1, 2, 3}), Covers());
}

}  // namespace
}  // namespace collage::place
