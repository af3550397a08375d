// SPDX-License-Identifier: Apache-2.0
// A long sequence as a tree that shows few things at once: runs of equal blocks are one block with a count, and what is
// still long is cut into sections. Each block is a range of the sequence: where the sequence is a topological order of
// a graph, the graph of the blocks of one level has no cycle.
//
//     a b c d b c d b c d e   =>   a, 3 x (b c d), e
//     200 different items     =>   7 sections of 28 or 29
#pragma once

#include <cstddef>
#include <vector>

namespace collage::driver {

struct Block {
  size_t begin = 0;
  size_t end = 0;    ///< one past its last item
  size_t times = 1;  ///< equal children, of so many items; 1: a section, one of the equal blocks, or an item
  std::vector<Block> children{};  ///< in order; empty: a single item

  friend bool operator==(const Block&, const Block&) = default;
};

/// No level has more blocks.
inline constexpr size_t kMostInBlock = 32;

/// `items`: numbers, equal for items that are alike.
std::vector<Block> find_blocks(const std::vector<int>& items);

}  // namespace collage::driver
