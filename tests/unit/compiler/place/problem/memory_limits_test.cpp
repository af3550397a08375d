// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/memory_limits.h"

#include <gtest/gtest.h>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/live_values.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

constexpr MemoryLimits::InstanceId kNpu = 0;

/// A device beside the host, with a memory, and copies that cost nothing.
struct Device {
  explicit Device(Sketch& sketch, int64_t memory) : owner(sketch.add_owner("npu", "npu[0]")) {
    format = sketch.add_format("npu[0]");
    sketch.convert(0, format, 0);
    sketch.convert(format, 0, 0);
    sketch.problem.owners[owner].memory = memory;
  }

  OwnerId owner;
  FormatId format;
};

/// A product and what follows it as one candidate of a device: 1024 bytes of weights, 512 of each value.
struct FusedMatch {
  explicit FusedMatch(int64_t memory) : sketch(2, {{0, 1}}), npu(sketch, memory) {
    for (ProblemValue& value : sketch.problem.values) value.bytes = 512;
    sketch.problem.constant_bytes = {1024};
    sketch.add_singletons(100);
    both = sketch.add({0, 1}, 10, npu.owner, npu.format);
    sketch.problem.candidates[both].constants = {0};
  }

  int64_t peak() const { return MemoryLimits(sketch.problem).peak(kNpu, {both}); }
  /// The peak of the best placement, on which all that compute it agree.
  int64_t best() const {
    const std::optional<Solution> found = search_optimal(sketch.problem);
    EXPECT_TRUE(found && found->optimal);
    const Verdict verdict = evaluate(sketch.problem, *found);
    EXPECT_TRUE(std::holds_alternative<Cost>(verdict) && std::get<Cost>(verdict) == found->cost);
    return found->cost.count();
  }

  Sketch sketch;
  Device npu;
  CandidateId both;
};

TEST(MemoryLimits, ValuesInsideACandidateHaveNoMemoryUnlessItKeepsThem) {
  FusedMatch fused(2048);
  EXPECT_EQ(MemoryLimits(fused.sketch.problem).working_bytes(fused.both), 512);
  EXPECT_EQ(fused.peak(), 1024 + 512);
  fused.sketch.problem.candidates[fused.both].kept = {1};
  // First the operand and the product, then the product and the result.
  EXPECT_EQ(MemoryLimits(fused.sketch.problem).working_bytes(fused.both), 1024);
  EXPECT_EQ(fused.peak(), 1024 + 1024);
}

TEST(MemoryLimits, TheSearchTakesWhatFitsExactly) {
  for (const auto& [memory, cost] : {std::pair(1536, 10), std::pair(1535, 200)}) {
    EXPECT_EQ(FusedMatch(memory).best(), cost) << memory;
  }
  for (const auto& [memory, cost] : {std::pair(2048, 10), std::pair(2047, 200)}) {
    FusedMatch fused(memory);
    fused.sketch.problem.candidates[fused.both].kept = {1};
    EXPECT_EQ(fused.best(), cost) << memory;
  }
}

TEST(MemoryLimits, WhatACandidateReadsAndMakesNeedNotBeThereAtOnce) {
  // x -> 0 -> 1 -> 2: the operand is gone when the result is made.
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const Device npu(sketch, 1000);
  for (ProblemValue& value : sketch.problem.values) value.bytes = 100;
  sketch.result_of(0).bytes = sketch.result_of(1).bytes = 7;
  sketch.add_singletons(100);
  const CandidateId all = sketch.add({0, 1, 2}, 10, npu.owner, npu.format);
  sketch.problem.candidates[all].kept = {1, 2};
  const MemoryLimits limits(sketch.problem);
  EXPECT_EQ(limits.working_bytes(all), 107);
  EXPECT_EQ(limits.held_at(all, 0), (std::vector<ProblemValueId>{0, 1}));
  EXPECT_EQ(limits.held_at(all, 1), (std::vector<ProblemValueId>{1, 2}));
  EXPECT_EQ(limits.held_at(all, 2), (std::vector<ProblemValueId>{3, 2}));
}

TEST(MemoryLimits, AValueGoesWithItsCopyToAnotherInstance) {
  // 0 on the device; 1 and 3 on the host read it, and 2 on the device does not.
  Sketch sketch(4, {{0, 1}, {0, 3}, {1, 3}, {2, 3}});
  const Device npu(sketch, 20);
  for (ProblemValue& value : sketch.problem.values) value.bytes = 10;
  sketch.add_singletons(100);
  const CandidateId first = sketch.add({0}, 1, npu.owner, npu.format);
  const CandidateId third = sketch.add({2}, 1, npu.owner, npu.format);
  // Each reads the input and makes a value; what node 0 made is on the host when node 2 runs.
  EXPECT_EQ(MemoryLimits(sketch.problem).peak(kNpu, {first, 1, third, 3}), 20);
  sketch.problem.values[0].bytes = 0;
  EXPECT_EQ(MemoryLimits(sketch.problem).peak(kNpu, {first, 1, third, 3}), 10);
  sketch.problem.owners[npu.owner].memory = 10;
  const std::optional<Solution> best = search_optimal(sketch.problem);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->optimal);
  EXPECT_EQ(best->cost, ps(202));
}

TEST(LiveValues, ReadersThatMayRunBeforeAreEarly) {
  // 0 is read by 1, which need not follow 2, by 2 and by 3, which follows 2.
  Sketch sketch(4, {{0, 1}, {0, 3}, {2, 3}, {0, 2}});
  const NodeGraph graph = node_graph(sketch.problem);
  const std::vector<ValueAcross> across = values_across(sketch.problem, graph, 2);
  ASSERT_EQ(across.size(), 2u);
  EXPECT_EQ(across[0].value, ProblemValueId(1));
  EXPECT_EQ(across[0].early, std::vector<NodeId>{1});
  EXPECT_EQ(across[1].value, ProblemValueId(3));
  EXPECT_TRUE(across[1].early.empty());
}

}  // namespace
}  // namespace collage::place
