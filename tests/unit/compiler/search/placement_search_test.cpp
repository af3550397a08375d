// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/placement_search.h"

#include <gtest/gtest.h>

#include "compiler/place/pipeline/spread.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::search {
namespace {

using place::BuiltProblem;
using place::MemoryLimit;
using place::Strategy;

/// A chain of `count` products with weights of 16 KiB, over `instances` npus of `bytes` each.
class PlacementSearchTest : public ::testing::Test {
 protected:
  void make(int count, int instances, size_t bytes) {
    std::string body;
    for (int i = 0; i < count; ++i) {
      body += fmt::format("  %w{0} = const random seed {0} : f32[64, 64]\n  %v{1} = MatMul(%v{0}, %w{0})\n", i, i + 1);
    }
    setup_.model(fmt::format("(%v0: f32[1, 64]) -> (%v{}: f32[1, 64])", count), body);
    setup_.add_rules(
        fmt::format("backend npu {{\n  runtime sim\n  device npu count {} {{ link host bandwidth 1 GB/s "
                    "latency 1 us  link npu bandwidth 1 GB/s latency 1 us }}\n"
                    "  rule product {{ match MatMul(x, w: const) cost 1 us lower \"p\" }}\n}}\n",
                    instances));
    auto built = setup_.problem();
    ASSERT_TRUE(built);
    built_.emplace(std::move(*built));
    for (int i = 0; i < instances; ++i) limits_.push_back({fmt::format("npu[{}]", i), bytes});
    const place::ActiveBackends active = setup_.active();
    const place::SearchOptions options;
    place::spread_over_instances({setup_.graph, active, limits_, {}, *place::default_objective(), options}, &*built_);
  }
  SearchInput input() const {
    SearchInput input{setup_.graph, *built_, setup_.rules, nothing_written_};
    input.limits = limits_;
    return input;
  }

  testing::Case setup_;
  std::optional<BuiltProblem> built_;
  std::vector<MemoryLimit> limits_;
  ir::Placement nothing_written_;
};

TEST_F(PlacementSearchTest, TakesWhatWasSpreadOverManyInstances) {
  make(12, 40, 40 << 10);  // two weights each
  ASSERT_TRUE(built_->spread && built_->spread->solution);
  const auto found = PlacementSearch(input()).find();
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found->chosen, built_->spread->solution->chosen);
  EXPECT_EQ(found->predicted, built_->spread->solution->cost);
}

TEST_F(PlacementSearchTest, OverManyInstancesOnlyTheExactStrategyPlaces) {
  make(12, 40, 40 << 10);
  const auto found = PlacementSearch(input(), {Strategy::Kind::Greedy, {}}).find();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.message(), "over so many instances only `optimal` places");
}

TEST_F(PlacementSearchTest, KeepsLimitsOfMemory) {
  make(3, 1, 40 << 10);  // two of three weights
  const SearchInput limited = input();
  const auto found = PlacementSearch(limited).find();
  ASSERT_TRUE(found) << found.message();
  size_t on_npu = 0;
  for (const ir::Partition& partition : found->placement.partitions) {
    if (partition.instance == "npu[0]") on_npu += partition.nodes.size();
  }
  SearchInput roomy = input();
  roomy.limits.clear();
  const auto free = PlacementSearch(roomy).find();
  ASSERT_TRUE(free) << free.message();
  EXPECT_LE(on_npu, 2u);
  EXPECT_GE(found->predicted, free->predicted);
}

// A strategy for which nothing fits shows what it would choose in more memory, and says so.
TEST_F(PlacementSearchTest, WithoutASolutionInItsMemoryItIgnoresTheLimits) {
  make(1, 1, 1 << 10);
  setup_.graph.node(ir::NodeId(int64_t{0})).pin = ir::Pin{"npu", 0, {}};
  built_.emplace(std::move(*setup_.problem()));
  bool ignores_limits = false;
  const SearchInput limited = input();
  const auto solution = PlacementSearch(limited).solve(*built_, &ignores_limits);
  ASSERT_TRUE(solution) << solution.message();
  EXPECT_TRUE(ignores_limits);
  EXPECT_FALSE(solution->optimal);
}

}  // namespace
}  // namespace collage::search
