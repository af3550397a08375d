// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/blocks.h"

#include <gtest/gtest.h>

#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

TEST(Blocks, JoinUnlessAPathLeavesAndComesBack) {
  const Sketch sketch(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}});
  const NodeGraph graph = node_graph(sketch.problem);
  Blocks blocks(graph);
  EXPECT_FALSE(blocks.may_join({BlockId(0), BlockId(2)}));
  EXPECT_FALSE(blocks.may_join({BlockId(2), BlockId(0)}));
  EXPECT_FALSE(blocks.may_join({BlockId(1), BlockId(3)}));
  EXPECT_TRUE(blocks.may_join({BlockId(0), BlockId(1), BlockId(2)}));
  EXPECT_EQ(blocks.join({BlockId(2), BlockId(1)}), BlockId(1));
  EXPECT_EQ(blocks.of(NodeId(2)), BlockId(1));
  EXPECT_EQ(blocks.nodes(BlockId(1)), (std::vector<NodeId>{1, 2}));
  EXPECT_TRUE(blocks.may_join({BlockId(0), BlockId(1)}));
  EXPECT_FALSE(blocks.may_join({BlockId(0), BlockId(3)}));
  EXPECT_EQ(blocks.writers(BlockId(1)), (std::vector<BlockId>{0}));
  EXPECT_EQ(blocks.readers(BlockId(1)), (std::vector<BlockId>{3}));
}

TEST(Blocks, PathsRunThroughBlocks) {
  // 0 -> 2 and 1 -> 3 hang together by { 2, 1 } alone: 3 waits for 0 then.
  const Sketch sketch(5, {{0, 2}, {1, 3}, {3, 4}, {0, 4}});
  const NodeGraph graph = node_graph(sketch.problem);
  Blocks blocks(graph);
  EXPECT_TRUE(blocks.may_join({BlockId(0), BlockId(3)}));
  blocks.join({BlockId(1), BlockId(2)});
  EXPECT_FALSE(blocks.may_join({BlockId(0), BlockId(3)}));
  EXPECT_EQ(blocks.in_order(), (std::vector<BlockId>{0, 1, 3, 4}));
}

TEST(Blocks, NodesStayInOrder) {
  const Sketch sketch(4, {});
  const NodeGraph graph = node_graph(sketch.problem);
  Blocks blocks(graph);
  blocks.join({BlockId(3), BlockId(1)});
  blocks.join({BlockId(2), BlockId(1)});
  EXPECT_EQ(blocks.nodes(BlockId(1)), (std::vector<NodeId>{1, 2, 3}));
  EXPECT_EQ(blocks.of(std::vector<NodeId>{3, 0, 1}), (std::vector<BlockId>{0, 1}));
  EXPECT_EQ(blocks.in_order(), (std::vector<BlockId>{0, 1}));
}

}  // namespace
}  // namespace collage::place
