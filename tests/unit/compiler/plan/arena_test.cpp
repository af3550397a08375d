// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/arena.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/plan/liveness.h"
#include "runtime/core/tensor.h"

namespace collage::plan {
namespace {

std::vector<ArenaItem> random_items(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<ArenaItem> items(static_cast<size_t>(1 + below(60)));
  int ticks = 1 + below(40);
  for (ArenaItem& item : items) {
    item.bytes = static_cast<size_t>(below(8) == 0 ? 0 : below(3) == 0 ? below(100000) : below(500));
    int first = below(ticks);
    item.live = {below(10) != 0, first, first + below(below(4) == 0 ? ticks : 5)};
  }
  return items;
}

TEST(Arena, BuffersThatLiveTogetherNeverShareAByte) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::vector<ArenaItem> items = random_items(seed);
    ArenaLayout layout = place_in_arena(items);
    ASSERT_GE(layout.bytes, least_arena_bytes(items));
    for (size_t i = 0; i < items.size(); ++i) {
      if (!items[i].live.is_used) continue;
      ASSERT_EQ(layout.offsets[i] % runtime::kTensorAlignment, 0u);
      size_t end = layout.offsets[i] + std::max<size_t>(items[i].bytes, 1);
      ASSERT_LE(end, layout.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!items[j].live.is_used || !items[i].live.overlaps(items[j].live)) continue;
        size_t other_end = layout.offsets[j] + std::max<size_t>(items[j].bytes, 1);
        ASSERT_TRUE(end <= layout.offsets[j] || other_end <= layout.offsets[i])
            << "seed " << seed << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Arena, AChainNeedsTwoBuffers) {
  std::vector<ArenaItem> items;
  for (int i = 0; i < 100; ++i) items.push_back({1024, {true, i, i + 1}});
  EXPECT_EQ(place_in_arena(items).bytes, 2048u);
  EXPECT_EQ(least_arena_bytes(items), 2048u);
}

TEST(Arena, TheSmallestGapThatFitsIsTaken) {
  // Two gaps open at tick 1: 128 bytes at 0 and 64 bytes after the second item.
  std::vector<ArenaItem> items{{512, {true, 0, 2}}, {256, {true, 0, 0}}, {192, {true, 0, 2}}, {64, {true, 1, 1}}};
  ArenaLayout layout = place_in_arena(items);
  EXPECT_EQ(layout.bytes, least_arena_bytes(items));
  EXPECT_EQ(layout.offsets[3], 512u);
}

TEST(Arena, NothingNeedsNothing) {
  EXPECT_EQ(place_in_arena({}).bytes, 0u);
  EXPECT_EQ(least_arena_bytes({}), 0u);
}

TEST(Liveness, CountsCallsFromTheFirstTouchToTheLast) {
  runtime::Plan plan;
  plan.spaces.push_back({"host", 0, 0, 0});
  for (const char* name : {"x", "inner", "y", "weights", "unused"}) {
    plan.buffers.push_back({name, 0, name == std::string_view("weights"), 0, {runtime::DType::F32, {4}}});
  }
  plan.inputs.push_back({"x", 0});
  plan.outputs.push_back({"y", 2});
  runtime::OpCall first{"Add", {}, {0, 3}, {1}};
  runtime::KernelCall second{"k", {1, -1, 2}, 1, 1, 0};
  plan.steps.push_back(runtime::HostStep{-1, {first, second}});
  plan.steps.push_back(runtime::ConvertStep{2, 2, {}});
  std::vector<LiveRange> live = live_ranges(plan);
  auto range = [&](size_t i) { return std::tuple(live[i].is_used, live[i].first, live[i].last); };
  EXPECT_EQ(range(0), std::tuple(true, 0, 1));  // from the start to its last reader
  EXPECT_EQ(range(1), std::tuple(true, 1, 2));
  EXPECT_EQ(range(2), std::tuple(true, 2, 4));  // to the end
  EXPECT_FALSE(live[3].is_used);                // resident
  EXPECT_FALSE(live[4].is_used);
}

}  // namespace
}  // namespace collage::plan
