// SPDX-License-Identifier: Apache-2.0
// Sets of nodes of one graph as bits, for the many unions that growing candidates tries.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::place {

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(size_t node_count) : words_((node_count + 63) / 64) {}

  void insert(ir::NodeId node) { words_[node.slot() / 64] |= uint64_t{1} << (node.slot() % 64); }
  bool contains(ir::NodeId node) const { return (words_[node.slot() / 64] >> (node.slot() % 64) & 1) != 0; }

  NodeSet& operator|=(const NodeSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  bool intersects(const NodeSet& other) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & other.words_[w]) != 0) return true;
    }
    return false;
  }
  /// Order by bits: at the first element that only one of them has, the other comes first.
  static bool precedes(const NodeSet& a, const NodeSet& b) {
    for (size_t w = 0; w < a.words_.size(); ++w) {
      const uint64_t differing = a.words_[w] ^ b.words_[w];
      if (differing != 0) return (b.words_[w] >> std::countr_zero(differing) & 1) != 0;
    }
    return false;
  }
  /// True if some element is in `a` and in `b` but not in `except`.
  static bool any_in_both_but_not(const NodeSet& a, const NodeSet& b, const NodeSet& except) {
    for (size_t w = 0; w < a.words_.size(); ++w) {
      if ((a.words_[w] & b.words_[w] & ~except.words_[w]) != 0) return true;
    }
    return false;
  }
  /// Ascending.
  std::vector<ir::NodeId> nodes() const {
    std::vector<ir::NodeId> ids;
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
        ids.emplace_back(w * 64 + size_t{static_cast<unsigned>(std::countr_zero(bits))});
      }
    }
    return ids;
  }
  /// Its bits, as a key for hashing.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(uint64_t)};
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace collage::place
