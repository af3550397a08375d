// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/blocks.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace collage::page {
namespace {

/// Checks that the blocks cover [begin, end) in order, that no level is too long, and that equal blocks are equal.
void check_level(const std::vector<int>& items, const std::vector<Block>& level, size_t begin, size_t end) {
  EXPECT_LE(level.size(), kMostInBlock);
  for (const Block& block : level) {
    ASSERT_EQ(block.begin, begin);
    ASSERT_LT(block.begin, block.end);
    begin = block.end;
    if (block.children.empty()) {
      EXPECT_EQ(block.end, block.begin + 1);
      continue;
    }
    check_level(items, block.children, block.begin, block.end);
    ASSERT_EQ((block.end - block.begin) % block.times, 0u);
    const size_t period = (block.end - block.begin) / block.times;
    for (size_t i = block.begin; i + period < block.end && block.times > 1; ++i) EXPECT_EQ(items[i], items[i + period]);
  }
  EXPECT_EQ(begin, end);
}

std::vector<Block> checked_blocks(const std::vector<int>& items) {
  std::vector<Block> blocks = find_blocks(items);
  check_level(items, blocks, 0, items.size());
  return blocks;
}

TEST(Blocks, OfAShortSequenceAreItsItems) {
  EXPECT_EQ(checked_blocks({}).size(), 0u);
  EXPECT_EQ(checked_blocks({1, 2, 1, 2, 1, 2}).size(), 6u);
}

TEST(Blocks, RepeatsAreOneBlock) {
  const std::vector<Block> blocks = checked_blocks({9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8});
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].begin, 1u);
  EXPECT_EQ(blocks[1].end, 10u);
  EXPECT_EQ(blocks[1].times, 3u);
  ASSERT_EQ(blocks[1].children.size(), 3u);
  EXPECT_EQ(blocks[1].children[2].begin, 7u);
  EXPECT_EQ(blocks[1].children[2].times, 1u);
  EXPECT_EQ(blocks[1].children[2].children.size(), 3u);
}

TEST(Blocks, OfOneItemHoldTheItems) {
  const std::vector<Block> blocks = checked_blocks({1, 5, 5, 5, 5, 5, 2, 3, 4});
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[1].times, 5u);
  EXPECT_TRUE(blocks[1].children[0].children.empty());
}

TEST(Blocks, ALongSequenceWithoutRepeatsIsCutIntoSections) {
  std::vector<int> items(5000);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<Block> blocks = checked_blocks(items);
  EXPECT_GT(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].times, 1u);
}

TEST(Blocks, LayersOfALargeModelAreFound) {
  std::vector<int> items{-1};
  for (int layer = 0; layer < 48; ++layer) {
    for (int i = 0; i < 100; ++i) items.push_back(i % 7 == 0 ? 7 : i);
  }
  items.push_back(-2);
  const std::vector<Block> blocks = checked_blocks(items);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].times, 48u);
  EXPECT_LE(blocks[1].children.size(), kMostInBlock);  // 48 blocks in sections
}

TEST(Blocks, ScopesAreTheModulesInNames) {
  EXPECT_EQ(scope_of_name("/cells.6/l/conv/Conv"), (Scope{"cells.6", "l", "conv"}));
  EXPECT_EQ(scope_of_name("stage2.block1.sum"), (Scope{"stage2", "block1"}));
  EXPECT_EQ(scope_of_name("y"), Scope{});
  EXPECT_EQ(scope_of_name(""), Scope{});
  EXPECT_EQ(common_scope({"a", "b", "c"}, {"a", "b", "d", "e"}), (Scope{"a", "b"}));
  EXPECT_EQ(common_scope({"a"}, {}), Scope{});
}

TEST(Blocks, ANameOfManyModulesIsCut) {
  const std::string deep(1'000'000, '/');
  EXPECT_EQ(scope_of_name(deep), Scope{});
  std::string name;
  for (int i = 0; i < 200'000; ++i) name += "/m";
  EXPECT_LT(scope_of_name(name).size(), 100u);
  const std::vector<Scope> scopes(40, scope_of_name(name));
  EXPECT_FALSE(find_blocks(std::vector<int>(40, 1), scopes).empty());
}

/// Blocks of items with these names, all of them different, by scopes.
std::vector<Block> blocks_of_names(const std::vector<std::string>& names) {
  std::vector<int> items(names.size());
  std::iota(items.begin(), items.end(), 0);
  std::vector<Scope> scopes;
  for (const std::string& name : names) scopes.push_back(scope_of_name(name));
  std::vector<Block> blocks = find_blocks(items, scopes);
  check_level(items, blocks, 0, items.size());
  return blocks;
}

TEST(Blocks, AreNamedByScopes) {
  std::vector<std::string> names{"/stem/Conv", "/stem/Relu"};
  for (const char* cell : {"/cells.0", "/cells.1", "/cells.2"}) {
    for (const char* node : {"/l/conv/Conv", "/l/conv/Relu", "/r/Conv", "/r/Add"})
      names.push_back(std::string(cell) + node);
  }
  names.emplace_back("/fc/Gemm");
  const std::vector<Block> blocks = blocks_of_names(names);
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].name, "stem");
  EXPECT_EQ(blocks[1].name, "cells.0");
  EXPECT_EQ(blocks[3].name, "cells.2");
  EXPECT_TRUE(blocks[4].children.empty());  // alone in its scope
  ASSERT_EQ(blocks[1].children.size(), 2u);
  EXPECT_EQ(blocks[1].children[0].name, "l/conv");  // `l` holds `conv` alone
  EXPECT_EQ(blocks[1].children[1].name, "r");
}

TEST(Blocks, AScopeAroundAllIsPartOfTheNames) {
  std::vector<std::string> names;
  for (int layer = 0; layer < 40; ++layer) {
    for (int i = 0; i < 5; ++i) names.push_back("model/layers/" + std::to_string(layer) + "/op" + std::to_string(i));
  }
  const std::vector<Block> blocks = blocks_of_names(names);
  ASSERT_EQ(blocks.size(), 2u);  // 40 layers in sections
  EXPECT_TRUE(blocks[0].name.empty());
  EXPECT_EQ(blocks[0].children[0].name, "model/layers/0");
  EXPECT_EQ(blocks[0].children[0].children.size(), 5u);
}

TEST(Blocks, ScopesThatAlternateSayNothing) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back((i % 2 == 0 ? "a/op" : "b/op") + std::to_string(i));
  std::vector<int> items(names.size());
  std::iota(items.begin(), items.end(), 0);
  EXPECT_EQ(blocks_of_names(names), find_blocks(items));
}

}  // namespace
}  // namespace collage::page
