// SPDX-License-Identifier: Apache-2.0
// Stages that are no stretches of a chain, and small steps.
#include "compiler/place/pipeline/pack_chain.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/place/pipeline/small_steps.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

using support::advance;

/// Steps one after another, each with a constant and a value for the next, of one byte.
Chain steps_of_work(const std::vector<int64_t>& works, int64_t copy, size_t stages) {
  Chain chain;
  for (int64_t work : works) {
    const auto index = static_cast<int>(chain.constant_bytes.size());
    chain.constant_bytes.push_back(1);
    chain.steps.push_back({work, {index}});
  }
  for (StepId step : chain.steps.ids()) {
    const StepId next = advance(step, 1);
    if (!chain.steps.holds(next)) break;
    ChainValue value;
    value.writer = step;
    value.readers = {next};
    value.bytes = 1;
    value.copy = copy;
    chain.values.push_back(value);
  }
  chain.stages = support::Table<StageId, ChainStage>(stages);
  return chain;
}

std::vector<int> packed_stages(const Cuts& cuts) {
  std::vector<int> stages;
  for (StageId stage : cuts.stage_of) stages.push_back(stage.index);
  return stages;
}

TEST(PackChain, ALaterStepFillsAGap) {
  const Chain chain = steps_of_work({9, 9, 9, 9, 2, 9, 9, 2, 2}, 1, 3);
  const std::optional<Cuts> cuts = least_most_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(cuts->value, 22);
  const std::optional<Cuts> packed = pack_chain(chain, cuts->value);
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->value, 20);
  EXPECT_EQ(packed_stages(*packed), (std::vector<int>{0, 0, 1, 1, 0, 2, 2, 1, 2}));
  EXPECT_FALSE(pack_chain(chain, 20));
}

TEST(PackChain, CopiesAndMemoryCount) {
  // Stages 1 and 2 would receive two values each.
  Chain chain = steps_of_work({9, 9, 9, 9, 2, 9, 9, 2, 2}, 11, 3);
  EXPECT_FALSE(pack_chain(chain, 21));
  chain = steps_of_work({9, 9, 9, 9, 2, 9, 9, 2, 2}, 1, 3);
  // Stage 1 is from the third step to the eighth: six constants, and two values while a step runs.
  for (ChainStage& stage : chain.stages) stage.memory = 8;
  EXPECT_TRUE(pack_chain(chain, 22));
  chain.requests = 2;
  EXPECT_FALSE(pack_chain(chain, 22));
}

TEST(PackChain, IsBelowTheLimitThatIsGiven) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> works;
    for (int s = 0; s < 20; ++s) works.push_back(1 + static_cast<int64_t>(random() % 12));
    const Chain chain = steps_of_work(works, static_cast<int64_t>(random() % 5), 2 + random() % 5);
    const std::optional<Cuts> cuts = least_most_cuts(chain);
    ASSERT_TRUE(cuts);
    const std::optional<Cuts> packed = pack_chain(chain, cuts->value);
    if (!packed) continue;
    EXPECT_LT(packed->value, cuts->value);
    EXPECT_EQ(packed->value, most_of_stages(chain, packed->stage_of));
    ASSERT_EQ(packed->stage_of.size(), chain.steps.size());
    for (StageId stage : packed->stage_of) EXPECT_TRUE(chain.stages.holds(stage));
  }
}

TEST(SmallSteps, AreNotLongerThanTheLimitOrTheirLongestNode) {
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  sketch.add_singletons(300);
  const CandidateId pair = sketch.add({0, 1}, 500);
  const CandidateId all = sketch.add({0, 1, 2, 3}, 900);
  const CandidateId hardly = sketch.add({2, 3}, 304);  // 300 / 64 is 4
  EXPECT_EQ(small_candidates(sketch.problem, 0), (std::vector<CandidateId>{0, 1, 2, 3, hardly}));
  EXPECT_EQ(small_candidates(sketch.problem, 500), (std::vector<CandidateId>{0, 1, 2, 3, pair, hardly}));
  EXPECT_EQ(small_candidates(sketch.problem, 900), (std::vector<CandidateId>{0, 1, 2, 3, pair, all, hardly}));
}

TEST(SmallSteps, CandidatesOfTwoStagesGo) {
  Sketch sketch(3, {{0, 1}, {1, 2}});
  sketch.add_singletons(3);
  const CandidateId kept = sketch.add({0, 1}, 5);
  sketch.add({1, 2}, 5);
  Table<NodeId, StageId> stage_of(3, StageId(0));
  stage_of[2] = 1;
  EXPECT_EQ(candidates_in_stages(sketch.problem, stage_of), (std::vector<CandidateId>{0, 1, 2, kept}));
}

}  // namespace
}  // namespace collage::place
