// SPDX-License-Identifier: Apache-2.0
// What it costs to give a value all formats of a set, from each format in which it could be written: the judge's own
// cheapest arborescences.
//
//     cost(u, {u})  = 0
//     cost(u, A)    = min( cost(u, B) + cost(u, A - B),  conversion(u -> v) + cost(v, A) )
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::certificate {

/// Sums of costs that cannot overflow.
__extension__ using Wide = __int128;
inline constexpr Wide kUnreachable = Wide{1} << 100;

class FormatTrees {
 public:
  /// More formats than this at once are not priced.
  static constexpr size_t kMaxWantedFormats = 12;

  /// Bit i of a set is `wanted[i]`; at most kMaxWantedFormats.
  FormatTrees(const std::vector<place::ConversionEdge>& edges, const std::vector<place::FormatId>& wanted);

  /// `kUnreachable`: some format of the set cannot be had.
  Wide cost(place::FormatId written, uint32_t set) const;

 private:
  using Slot = support::Id<struct FormatSlotTag>;
  struct Edge {
    Slot from = 0;
    Slot to = 0;
    Wide cost = 0;
  };
  Wide& cell(uint32_t set, Slot slot) { return costs_[set * slots_.size() + slot.slot()]; }
  void fill(uint32_t set, const std::vector<Edge>& edges);

  std::map<place::FormatId, Slot> slots_;
  std::vector<Slot> slot_of_wanted_;
  std::vector<Wide> costs_;
};

}  // namespace collage::certificate
