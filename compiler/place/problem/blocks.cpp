// SPDX-License-Identifier: Apache-2.0
// See blocks.h.
#include "compiler/place/problem/blocks.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace collage::place {
namespace {

template <typename I>
void sort_and_unique(std::vector<I>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Blocks::Blocks(const NodeGraph& graph)
    : graph_(&graph), nodes_(graph.size()), joins_in_(graph.size(), 0), seen_in_(graph.size(), 0) {
  for (NodeId node : graph.successors.ids()) {
    block_.push_back(BlockId(node.slot()));
    nodes_[block_.back()] = {node};
  }
}

std::vector<BlockId> Blocks::of(const std::vector<NodeId>& nodes) const {
  std::vector<BlockId> blocks;
  for (NodeId node : nodes) blocks.push_back(block_[node]);
  sort_and_unique(blocks);
  return blocks;
}

std::vector<NodeId> Blocks::nodes(const std::vector<BlockId>& blocks) const {
  std::vector<NodeId> all;
  for (BlockId block : blocks) all.insert(all.end(), nodes_[block].begin(), nodes_[block].end());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<BlockId> Blocks::neighbours(BlockId block, const Table<NodeId, std::vector<NodeId>>& lists) const {
  std::vector<BlockId> blocks;
  for (NodeId node : nodes_[block]) {
    for (NodeId other : lists[node]) {
      if (block_[other] != block) blocks.push_back(block_[other]);
    }
  }
  sort_and_unique(blocks);
  return blocks;
}

std::vector<BlockId> Blocks::in_order() const {
  Table<BlockId, size_t> waits_for(nodes_.size(), 0);
  std::set<BlockId> ready;
  for (BlockId block : nodes_.ids()) {
    if (nodes_[block].empty()) continue;
    waits_for[block] = writers(block).size();
    if (waits_for[block] == 0) ready.insert(block);
  }
  std::vector<BlockId> order;
  while (!ready.empty()) {
    order.push_back(*ready.begin());
    ready.erase(ready.begin());
    for (BlockId reader : readers(order.back())) {
      if (--waits_for[reader] == 0) ready.insert(reader);
    }
  }
  return order;
}

bool Blocks::may_join(const std::vector<BlockId>& blocks) {
  ++round_;
  NodeId last = last_joined_;
  for (BlockId block : blocks) {
    joins_in_[block] = round_;
    last = std::max(last, nodes_[block].back());
  }
  std::vector<BlockId> open;
  /// True if the block is read by one of those that join.
  const auto visit_readers = [&](BlockId block) {
    bool comes_back = false;
    for (NodeId node : nodes_[block]) {
      for (NodeId reader : graph_->successors[node]) {
        if (reader > last) continue;  // alone in its block, as all that follow it
        const BlockId next = block_[reader];
        comes_back |= joins_in_[next] == round_;
        if (joins_in_[next] == round_ || seen_in_[next] == round_) continue;
        seen_in_[next] = round_;
        open.push_back(next);
      }
    }
    return comes_back;
  };
  for (BlockId block : blocks) visit_readers(block);
  while (!open.empty()) {
    const BlockId block = open.back();
    open.pop_back();
    if (visit_readers(block)) return false;
  }
  return true;
}

BlockId Blocks::join(const std::vector<BlockId>& blocks) {
  const BlockId first = *std::min_element(blocks.begin(), blocks.end());
  std::vector<NodeId>& all = nodes_[first];
  for (BlockId block : blocks) {
    if (block == first) continue;
    const std::vector<NodeId> more = std::move(nodes_[block]);
    nodes_[block].clear();
    for (NodeId node : more) block_[node] = first;
    const auto middle = all.insert(all.end(), more.begin(), more.end());
    if (middle != all.begin() && middle != all.end() && *middle < *std::prev(middle)) {
      std::inplace_merge(all.begin(), middle, all.end());
    }
  }
  if (all.size() > 1) last_joined_ = std::max(last_joined_, all.back());
  return first;
}

}  // namespace collage::place
