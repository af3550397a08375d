// SPDX-License-Identifier: Apache-2.0
// A long sequence as a tree that shows few things at once: runs of equal blocks are one block with a count, and what is
// still long is cut into sections. Each block is a range of the sequence: where the sequence is a topological order of
// a graph, the graph of the blocks of one level has no cycle.
//
//     a b c d b c d b c d e   =>   a, 3 x (b c d), e
//     200 different items     =>   7 sections of 28 or 29
//
// Where items have scopes, the modules that an exporter names them by, these are the blocks, as far as the items of a
// scope stand together, and only what is in no deeper scope is looked at for repeats:
//
//     stem, cells.0/l, cells.0/l, cells.0/r, cells.1/l, …   =>   stem, cells.0 (l (2 items), r), cells.1 (…), …
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace collage::page {

struct Block {
  size_t begin = 0;
  size_t end = 0;    ///< one past its last item
  size_t times = 1;  ///< equal children, of so many items; 1: a section, one of the equal blocks, or an item
  std::vector<Block> children{};  ///< in order; empty: a single item
  std::string name{};             ///< of its scope, below that of the block around it: `cells.6/l`; empty: none

  friend bool operator==(const Block&, const Block&) = default;
};

/// No level has more blocks.
inline constexpr size_t kMostInBlock = 32;

/// `items`: numbers, equal for items that are alike.
std::vector<Block> find_blocks(const std::vector<int>& items);

/// Names of modules, the outermost first.
using Scope = std::vector<std::string>;

/// The modules in a name: of `/cells.6/l/conv/Conv` `cells.6`, `l`, `conv`; without slashes of `stage2.block1.sum`
/// `stage2`, `block1`.
Scope scope_of_name(const std::string& name);
/// The outermost modules that both have.
Scope common_scope(const Scope& a, const Scope& b);

/// By scopes, one for each item. As without where they say little: items of a scope do not stand together.
std::vector<Block> find_blocks(const std::vector<int>& items, const std::vector<Scope>& scopes);

}  // namespace collage::page
