// SPDX-License-Identifier: Apache-2.0
// Prices of solutions by hand, and for what they are refused. (Regions: candidates/regions_test.cpp.)
#include <gtest/gtest.h>

#include "compiler/place/evaluate/evaluate.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

/// The cost in picoseconds, or the reason.
std::string judged(const Problem& problem, const std::vector<CandidateId>& chosen) {
  Solution solution;
  solution.chosen = chosen;
  const Verdict verdict = evaluate(problem, solution);
  if (const auto* reason = std::get_if<std::string>(&verdict)) return *reason;
  return std::to_string(std::get<Cost>(verdict).count());
}

/// A device with a format of its own: copies to it take 4 and back 5.
struct WithNpu : Sketch {
  WithNpu(size_t node_count, const std::vector<Edge>& edges) : Sketch(node_count, edges) {
    npu = add_owner("npu", "npu[0]");
    device = add_format("npu[0]");
    convert(0, device, 4);
    convert(device, 0, 5);
  }
  OwnerId npu;
  FormatId device;
};

TEST(EvaluateSolution, AddsUpCandidatesAndCopies) {
  // host -> device -> host.
  WithNpu sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(10);
  const CandidateId on_device = sketch.add({1}, 3, sketch.npu, sketch.device);
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2}), "30");
  EXPECT_EQ(judged(sketch.problem, {0, on_device, 2}), "32");  // 10 + 4 + 3 + 5 + 10
}

TEST(EvaluateSolution, ReadersInOneFormatShareACopy) {
  WithNpu sketch(3, {{0, 1}, {0, 2}});
  sketch.add({0}, 10);
  sketch.add({1}, 1, sketch.npu, sketch.device);
  sketch.add({2}, 1, sketch.npu, sketch.device);
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2}), "26");  // 10 + 4 + 1 + 1 + 5 + 5
}

TEST(EvaluateSolution, FormatsOfAValueAreMadeOverEachOtherWhereThatIsCheaper) {
  // To a second device 9 from the host, 2 from the first one.
  WithNpu sketch(3, {{0, 1}, {0, 2}});
  const FormatId second = sketch.add_format("npu[1]");
  sketch.convert(0, second, 9);
  sketch.convert(sketch.device, second, 2);
  sketch.convert(second, 0, 6);
  sketch.add({0}, 0);
  sketch.add({1}, 0, sketch.npu, sketch.device);
  sketch.add({2}, 0, sketch.add_owner("npu", "npu[1]"), second);
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2}), "17");  // 4 + 2, and 5 + 6 for the results
}

TEST(EvaluateSolution, ValuesInsideACandidateNeedNoConversion) {
  WithNpu sketch(2, {{0, 1}});
  sketch.add({0, 1}, 3, sketch.npu, sketch.device);
  EXPECT_EQ(judged(sketch.problem, {0}), "12");  // 4 + 3 + 5
}

TEST(EvaluateSolution, OneFormatWantedFromMoreThanCanBeSearchedIsFollowedAlongItsCopies) {
  // 14 readers in 14 formats, each one step of 1 from the one before: no set of them is cheaper than the chain.
  constexpr size_t kReaders = 14;
  std::vector<Sketch::Edge> edges;
  for (size_t reader = 1; reader <= kReaders; ++reader) edges.push_back({0, NodeId(reader)});
  Sketch sketch(kReaders + 1, edges);
  sketch.add({0}, 100);
  FormatId before = 0;
  for (size_t reader = 1; reader <= kReaders; ++reader) {
    const FormatId format = sketch.add_format("host", "L" + std::to_string(reader));
    sketch.convert(before, format, 1);
    sketch.convert(0, format, 50);
    sketch.add({NodeId(reader)}, 0, 0, format);
    // What it makes is wanted on the host, plain.
    sketch.problem.candidates.back().writes.front().format = 0;
    before = format;
  }
  std::vector<CandidateId> all;
  for (CandidateId c : sketch.problem.candidates.ids()) all.push_back(c);
  EXPECT_EQ(judged(sketch.problem, all), "114");
}

TEST(EvaluateSolution, EveryNodeIsCoveredOnce) {
  Sketch sketch(2, {{0, 1}});
  sketch.add_singletons(10);
  sketch.add({0, 1}, 1);
  EXPECT_EQ(judged(sketch.problem, {0}), "node 1 is not covered");
  EXPECT_EQ(judged(sketch.problem, {0, 2}), "node 0 is covered twice");
  EXPECT_EQ(judged(sketch.problem, {2}), "1");
}

TEST(EvaluateSolution, PartitionsMustNotWaitForEachOther) {
  Sketch sketch(4, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
  sketch.add({0, 2}, 1);
  sketch.add({1, 3}, 1);
  EXPECT_EQ(judged(sketch.problem, {0, 1}), "the partitions form a cycle");
}

TEST(EvaluateSolution, APartitionAroundAnotherOneIsACycle) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  sketch.add({0, 2}, 1);
  sketch.add({1}, 1);
  EXPECT_EQ(judged(sketch.problem, {0, 1}), "the partitions form a cycle");
}

TEST(EvaluateSolution, PartitionsOfABackendAreCountedOverItsInstances) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  for (const char* instance : {"npu[0]", "npu[1]"}) {
    const OwnerId owner = sketch.add_owner("npu", instance);
    sketch.problem.owners[owner].max_partitions = 2;
    sketch.add_singletons(1, owner);
  }
  sketch.add_singletons(1);
  EXPECT_EQ(judged(sketch.problem, {0, 4, 5}), "3 partitions on `npu`, at most 2 are allowed");
  EXPECT_EQ(judged(sketch.problem, {0, 4, 8}), "3");
}

TEST(EvaluateSolution, ConflictingBackendsAreNotInOnePlan) {
  Sketch sketch(2, {});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const OwnerId dsp = sketch.add_owner("dsp", "dsp[0]");
  sketch.problem.owners[dsp].conflicts = {npu};
  sketch.add_singletons(1, npu);
  sketch.add_singletons(1, dsp);
  EXPECT_EQ(judged(sketch.problem, {0, 3}), "`dsp` and `npu` may not be in one plan");
  EXPECT_EQ(judged(sketch.problem, {0, 1}), "2");
  EXPECT_EQ(judged(sketch.problem, {2, 3}), "2");
}

TEST(EvaluateSolution, MemoryIsWhatAnInstanceHoldsAtOnce) {
  // 100 of constants; the operand of 1 and its result of 10 each are there together, three values never are.
  Sketch sketch(3, {{0, 1}, {1, 2}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(1, npu);
  for (ProblemValue& value : sketch.problem.values) value.bytes = 10;
  sketch.problem.constant_bytes = {100};
  for (Candidate& candidate : sketch.problem.candidates) candidate.constants = {0};
  sketch.problem.owners[npu].memory = 120;
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2}), "3");
  sketch.problem.owners[npu].memory = 119;
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2}), "`npu[0]` needs 120 bytes of memory and has 119");
}

TEST(EvaluateSolution, AValueThatIsReadLaterIsHeldUntilThen) {
  // 0 -> 3, 1 -> 2 -> 3: the result of 0 lies there while 1 and 2 run.
  Sketch sketch(4, {{0, 3}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.add_singletons(1, npu);
  sketch.result_of(0).bytes = 1000;
  sketch.result_of(1).bytes = sketch.result_of(2).bytes = 500;
  sketch.problem.owners[npu].memory = 1999;
  EXPECT_EQ(judged(sketch.problem, {0, 1, 2, 3}), "`npu[0]` needs 2000 bytes of memory and has 1999");
}

TEST(EvaluateSolution, AnInstanceThatRunsNothingHoldsNothing) {
  Sketch sketch(1, {});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  sketch.problem.owners[npu].memory = 0;
  sketch.problem.values.front().bytes = 10;
  sketch.add_singletons(1);
  EXPECT_EQ(judged(sketch.problem, {0}), "1");
}

TEST(EvaluateSolution, AFormatThatNoConversionLeadsTo) {
  Sketch sketch(1, {});
  sketch.add({0}, 1, sketch.add_owner("npu", "npu[0]"), sketch.add_format("npu[0]"));
  EXPECT_EQ(judged(sketch.problem, {0}), "value 0 cannot have all the formats it is read in");
}

TEST(EvaluateSolution, AConversionWithoutACostLeadsNowhere) {
  WithNpu sketch(1, {});
  sketch.add({0}, 1, sketch.npu, sketch.device);
  EXPECT_EQ(judged(sketch.problem, {0}), "10");
  sketch.problem.values.front().conversions.front().cost = Cost::max();
  EXPECT_EQ(judged(sketch.problem, {0}), "value 0 cannot have all the formats it is read in");
}

TEST(EvaluateSolution, AResultThatItsCandidateDoesNotWrite) {
  Sketch sketch(2, {{0, 1}});
  sketch.add_singletons(1);
  sketch.problem.candidates.front().writes.clear();
  EXPECT_EQ(judged(sketch.problem, {0, 1}), "value 1 is read outside and not written");
}

}  // namespace
}  // namespace collage::place
