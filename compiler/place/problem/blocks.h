// SPDX-License-Identifier: Apache-2.0
// Nodes joined into blocks, one join after another, so that the quotient stays acyclic.
//
//     a -> b -> c, a -> c     { a, c }: no, b would wait for it and it for b     { a, b }, { a, b, c }: yes
//
// A block is named by its first node: joining keeps the smallest name.
#pragma once

#include <vector>

#include "compiler/place/problem/quotient.h"

namespace collage::place {

using BlockId = Id<struct BlockTag>;

/// Keeps the graph by reference.
class Blocks {
 public:
  /// Each node is a block.
  explicit Blocks(const NodeGraph& graph);

  BlockId of(NodeId node) const { return block_[node]; }
  /// The blocks of these nodes, ascending, each once.
  std::vector<BlockId> of(const std::vector<NodeId>& nodes) const;
  /// Ascending.
  const std::vector<NodeId>& nodes(BlockId block) const { return nodes_[block]; }
  /// The nodes of these blocks, ascending.
  std::vector<NodeId> nodes(const std::vector<BlockId>& blocks) const;
  /// The other blocks that this one reads, or that read it; ascending, each once.
  std::vector<BlockId> writers(BlockId block) const { return neighbours(block, graph_->predecessors); }
  std::vector<BlockId> readers(BlockId block) const { return neighbours(block, graph_->successors); }
  /// In topological order, the smaller name first where there is a choice.
  std::vector<BlockId> in_order() const;
  /// One past the largest name.
  size_t name_count() const { return nodes_.size(); }

  /// No path leads from one of them through others to one of them.
  bool may_join(const std::vector<BlockId>& blocks);
  /// Returns the block that they become. Expects that they may.
  BlockId join(const std::vector<BlockId>& blocks);

 private:
  std::vector<BlockId> neighbours(BlockId block, const Table<NodeId, std::vector<NodeId>>& lists) const;

  const NodeGraph* graph_;
  Table<NodeId, BlockId> block_;
  Table<BlockId, std::vector<NodeId>> nodes_;  ///< empty: joined to another
  NodeId last_joined_;                         ///< the largest node of a block of several; none yet
  Table<BlockId, size_t> joins_in_, seen_in_;  ///< the last round of `may_join` that asked for it, or came by
  size_t round_ = 0;
};

}  // namespace collage::place
