// SPDX-License-Identifier: Apache-2.0
// Cuts of a chain into stages: by hand, and against all cuts of small random chains.
#include "compiler/place/pipeline/cut_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "compiler/place/pipeline/segment.h"

namespace collage::place {
namespace {

using support::advance;
using support::IdRange;

/// Steps with this work, one after another, each with a constant and a value for the next; the last value is the input.
Chain line(const std::vector<int64_t>& works, int64_t constant, int64_t bytes, int64_t copy) {
  Chain chain;
  for (int64_t work : works) {
    const auto index = static_cast<int>(chain.constant_bytes.size());
    chain.constant_bytes.push_back(constant);
    chain.steps.push_back({work, {index}});
  }
  for (StepId step : chain.steps.ids()) {
    ChainValue value;
    value.writer = step;
    const StepId next = advance(step, 1);
    if (chain.steps.holds(next)) value.readers = {next};
    value.is_kept = !chain.steps.holds(next);
    value.bytes = bytes;
    value.copy = value.copy_home = copy;
    chain.values.push_back(value);
  }
  ChainValue input;
  input.readers = {0};
  input.bytes = bytes;
  input.copy = copy;
  chain.values.push_back(input);
  return chain;
}

void add_stages(Chain& chain, size_t count, std::optional<int64_t> memory) {
  for (size_t s = 0; s < count; ++s) chain.stages.push_back({memory});
}

std::vector<int> stages_of(const Cuts& cuts) {
  std::vector<int> stages;
  for (StageId stage : cuts.stage_of) stages.push_back(stage.index);
  return stages;
}

TEST(CutChain, WithoutALimitNothingIsCut) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 5);
  add_stages(chain, 3, std::nullopt);
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(cuts->value, 0);
}

TEST(CutChain, MemoryDecides) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 5);
  // Two constants, and two values while the second step runs.
  add_stages(chain, 2, 22);
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(cuts->value, 10);  // a copy there, and the result home
  chain.stages[1].memory = 21;
  EXPECT_FALSE(least_sum_cuts(chain));
  EXPECT_FALSE(least_most_cuts(chain));
}

TEST(CutChain, NarrowPlacesAreCut) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 5);
  chain.values[1].copy = 50;  // between the second and the third
  add_stages(chain, 3, 22);
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 1, 1, 2}));
  EXPECT_EQ(cuts->value, 15);
}

TEST(CutChain, FewStagesLeaveNoChoice) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 5);
  chain.values[1].copy = 50;
  add_stages(chain, 2, 22);
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(cuts->value, 55);
}

TEST(CutChain, AStageWithTooLittleIsLeftOut) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 5);
  chain.stages = {{22}, {5}, {22}};
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 2, 2}));
  const std::optional<Cuts> stream = least_most_cuts(chain);
  ASSERT_TRUE(stream);
  EXPECT_EQ(stages_of(*stream), (std::vector<int>{0, 0, 2, 2}));
}

TEST(CutChain, AStreamIsBalanced) {
  Chain chain = line({4, 1, 1, 4, 2}, 1, 1, 1);
  add_stages(chain, 3, std::nullopt);
  const std::optional<Cuts> cuts = least_most_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(cuts->value, 5);
}

TEST(CutChain, EachRequestOfAStageHasItsValues) {
  Chain chain = line({1, 1, 1, 1}, 10, 1, 0);
  chain.requests = 2;
  // Two constants, and two values of each request while the second step runs.
  add_stages(chain, 2, 24);
  EXPECT_TRUE(least_most_cuts(chain));
  for (ChainStage& stage : chain.stages) stage.memory = 23;
  EXPECT_FALSE(least_most_cuts(chain));
  // There is room for one.
  const std::optional<Cuts> cuts = stream_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(cuts->value, 2);
}

TEST(CutChain, AStreamHasRoomForThreeRequestsInAStage) {
  Chain chain = line({1, 1, 1, 3}, 10, 1, 0);
  add_stages(chain, 2, 33);
  // Three constants and two values are 32 bytes, with values of three requests 36.
  EXPECT_EQ(stages_of(*least_most_cuts(chain)), (std::vector<int>{0, 0, 0, 1}));
  const std::optional<Cuts> cuts = stream_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(cuts->value, 4);
}

TEST(CutChain, ACopyMayBeTheBusiest) {
  Chain chain = line({2, 2}, 1, 1, 9);
  add_stages(chain, 2, std::nullopt);
  const std::optional<Cuts> cuts = least_most_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(stages_of(*cuts), (std::vector<int>{0, 0}));
  EXPECT_EQ(cuts->value, 4);
}

TEST(Segment, CountsWhatComesFromOutsideFromItsFirstReaderToItsLast) {
  Chain chain = line({1, 1, 1, 1}, 0, 0, 0);
  ChainValue mask;
  mask.readers = {1, 3};
  mask.bytes = 8;
  mask.copy = 3;
  chain.values.push_back(mask);
  ChainValue large;
  large.writer = 2;
  large.readers = {3};
  large.bytes = 100;
  chain.values.push_back(large);
  Segment segment(chain);
  segment.start(1);
  segment.grow();
  EXPECT_EQ(segment.memory(), 8);
  EXPECT_EQ(segment.copies(), 3);
  segment.grow();
  EXPECT_EQ(segment.memory(), 100);  // nothing reads the mask any more, as far as the segment goes
  segment.grow();
  EXPECT_EQ(segment.memory(), 108);
  EXPECT_EQ(segment.copies(), 3);
  segment.start(0);
  segment.grow();
  segment.grow();
  EXPECT_EQ(segment.copies(), 0);  // inputs are where the first step is
}

// ---- all cuts of small chains, with code of their own

struct Judged {
  int64_t sum = 0;
  int64_t most = 0;
  bool fits = true;
};

/// Steps [begin, end) on one stage, counted from the definition.
void judge_stage(const Chain& chain, StepId begin, StepId end, std::optional<int64_t> memory, Judged* judged) {
  const auto is_inside = [&](StepId step) { return step >= begin && step < end; };
  int64_t work = 0, copies = 0, home = 0, held = 0, peak = 0;
  std::set<int> constants;
  for (StepId step : IdRange<StepId>(begin, end)) {
    work += chain.steps[step].work;
    constants.insert(chain.steps[step].constants.begin(), chain.steps[step].constants.end());
  }
  for (int constant : constants) held += chain.constant_bytes[static_cast<size_t>(constant)];
  for (StepId step : IdRange<StepId>(begin, end)) {
    int64_t now = 0;
    for (const ChainValue& value : chain.values) {
      StepId first, last;
      if (value.writer.is_valid() && is_inside(value.writer)) {
        first = value.writer;
        last = value.readers.empty() ? first : std::max(first, value.readers.back());
        if (value.is_kept) last = chain.steps.next_id();
      } else {
        for (StepId reader : value.readers) {
          if (!is_inside(reader)) continue;
          if (!first.is_valid()) first = reader;
          last = reader;
        }
      }
      if (first.is_valid() && first <= step && step <= last) now += value.bytes;
    }
    peak = std::max(peak, now);
  }
  for (const ChainValue& value : chain.values) {
    const bool is_read = std::any_of(value.readers.begin(), value.readers.end(), is_inside);
    const bool is_made = value.writer.is_valid() && is_inside(value.writer);
    const bool is_input = !value.writer.is_valid();
    const bool is_home = chain.is_home_last ? end == chain.steps.next_id() : begin == 0;
    if (is_read && !is_made && !(is_input && is_home)) copies += value.copy;
    if (is_made && value.is_kept && !is_home) home += value.copy_home;
  }
  judged->sum += copies + home;
  judged->most = std::max({judged->most, work, copies, home});
  if (memory && held + peak > *memory) judged->fits = false;
}

/// Every way to give steps ascending stages, the last one at home if that is last.
void try_all(const Chain& chain, StepId begin, size_t stage, Judged so_far, int64_t* sum, int64_t* most) {
  if (begin == chain.steps.next_id()) {
    if (chain.is_home_last && stage != chain.stages.size()) return;
    *sum = std::min(*sum, so_far.sum);
    *most = std::min(*most, so_far.most);
    return;
  }
  for (; stage < chain.stages.size(); ++stage) {
    for (StepId end = advance(begin, 1); end <= chain.steps.next_id(); end = advance(end, 1)) {
      Judged next = so_far;
      judge_stage(chain, begin, end, chain.stages[StageId(stage)].memory, &next);
      if (next.fits) try_all(chain, end, stage + 1, next, sum, most);
    }
  }
}

/// The first stage becomes the last one, which is home.
Chain with_home_last(const Chain& chain) {
  Chain other = chain;
  other.is_home_last = true;
  for (StageId s : chain.stages.ids()) {
    other.stages[s] = chain.stages[StageId((s.slot() + 1) % chain.stages.size())];
  }
  return other;
}

bool copies_home(const Chain& chain) {
  return std::any_of(chain.values.begin(), chain.values.end(), [](const ChainValue& v) { return v.copy_home > 0; });
}

/// Stages are passed in their order, the first one at the start or at the end.
bool are_passed_in_order(const Cuts& cuts, size_t count) {
  std::vector<size_t> last, first;
  for (StageId stage : cuts.stage_of) {
    first.push_back(stage.slot());
    last.push_back(stage.slot() == 0 ? count : stage.slot());
  }
  return std::is_sorted(first.begin(), first.end()) || std::is_sorted(last.begin(), last.end());
}

TEST(CutChain, ALargeResultIsMadeAtHome) {
  Chain chain = line({1, 1, 1, 1, 1}, 10, 1, 5);
  chain.values[4].copy_home = 50;
  chain.values[5].copy = 2;
  add_stages(chain, 4, 23);  // two steps
  const std::optional<Cuts> cuts = least_sum_cuts(chain);
  ASSERT_TRUE(cuts);
  EXPECT_EQ(cuts->value, 2 + 5 + 5);
  EXPECT_EQ(cuts->stage_of.items().back(), StageId(0));
  EXPECT_EQ(std::set<StageId>(cuts->stage_of.begin(), cuts->stage_of.end()), (std::set<StageId>{0, 2, 3}));
  // Home has no room for a step.
  chain.stages[StageId(0)].memory = 5;
  const std::optional<Cuts> elsewhere = least_sum_cuts(chain);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(stages_of(*elsewhere).front(), 1);
}

TEST(CutChain, AsGoodAsTheBestOfAllCuts) {
  std::mt19937 random(7);
  const auto up_to = [&](int most) { return static_cast<int64_t>(random() % static_cast<unsigned>(most + 1)); };
  for (int round = 0; round < 300; ++round) {
    Chain chain;
    const auto steps = static_cast<size_t>(2 + up_to(5));
    for (int c = 0; c < 4; ++c) chain.constant_bytes.push_back(up_to(10));
    for (size_t s = 0; s < steps; ++s) {
      ChainStep step{1 + up_to(9), {}};
      for (int c = 0; c < 4; ++c) {
        if (up_to(2) == 0) step.constants.push_back(c);
      }
      chain.steps.push_back(step);
    }
    for (int v = 0; v < 8; ++v) {
      ChainValue value;
      const int64_t writer = up_to(static_cast<int>(steps)) - 1;
      if (writer >= 0) value.writer = StepId(writer);
      for (int64_t reader = writer + 1; reader < static_cast<int64_t>(steps); ++reader) {
        if (up_to(2) == 0) value.readers.emplace_back(reader);
      }
      value.is_kept = value.writer.is_valid() && up_to(3) == 0;
      value.bytes = up_to(8);
      value.copy = up_to(6);
      value.copy_home = up_to(6);
      if (value.writer.is_valid() || !value.readers.empty()) chain.values.push_back(value);
    }
    const bool is_equal = round % 2 == 0;
    const int64_t memory = 12 + up_to(30);
    for (int64_t s = 0; s < 1 + up_to(3); ++s) {
      chain.stages.push_back({is_equal ? memory : 8 + up_to(35)});
    }
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    int64_t sum = kNone, most = kNone;
    try_all(chain, 0, 0, {}, &sum, &most);
    int64_t sum_with_home_last = kNone, unused = kNone;
    if (copies_home(chain) && chain.stages.size() > 1) {
      try_all(with_home_last(chain), 0, 0, {}, &sum_with_home_last, &unused);
    }
    const std::optional<Cuts> by_sum = least_sum_cuts(chain);
    const std::optional<Cuts> by_most = least_most_cuts(chain);
    ASSERT_EQ(by_sum.has_value(), std::min(sum, sum_with_home_last) < kNone) << "round " << round;
    ASSERT_EQ(by_most.has_value(), sum < kNone) << "round " << round;
    if (!by_sum) continue;
    EXPECT_EQ(by_sum->value, std::min(sum, sum_with_home_last)) << "round " << round;
    EXPECT_TRUE(are_passed_in_order(*by_sum, chain.stages.size())) << "round " << round;
    if (!by_most) continue;
    EXPECT_EQ(by_most->value, most) << "round " << round;
    EXPECT_EQ(most_of_stages(chain, by_most->stage_of), most) << "round " << round;
    EXPECT_TRUE(std::is_sorted(by_most->stage_of.begin(), by_most->stage_of.end()));
  }
}

}  // namespace
}  // namespace collage::place
