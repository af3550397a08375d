// SPDX-License-Identifier: Apache-2.0
// See format_trees.h.
#include "compiler/certificate/format_trees.h"

#include <algorithm>

namespace collage::certificate {

FormatTrees::FormatTrees(const std::vector<place::ConversionEdge>& edges, const std::vector<place::FormatId>& wanted) {
  const auto slot = [this](place::FormatId format) { return slots_.try_emplace(format, slots_.size()).first->second; };
  std::vector<Edge> used;
  for (const place::ConversionEdge& edge : edges) {
    if (edge.cost < place::Cost::max()) used.push_back({slot(edge.from), slot(edge.to), edge.cost.count()});
  }
  for (place::FormatId format : wanted) slot_of_wanted_.push_back(slot(format));
  costs_.assign(slots_.size() << wanted.size(), kUnreachable);
  for (Slot u : support::first_ids<Slot>(slots_.size())) cell(0, u) = 0;
  for (uint32_t set = 1; set < uint32_t{1} << wanted.size(); ++set) fill(set, used);
}

void FormatTrees::fill(uint32_t set, const std::vector<Edge>& edges) {
  for (size_t t = 0; t < slot_of_wanted_.size(); ++t) {
    const uint32_t only = uint32_t{1} << t;
    if ((set & only) == 0) continue;
    Wide& here = cell(set, slot_of_wanted_[t]);
    here = std::min(here, cell(set ^ only, slot_of_wanted_[t]));
  }
  for (uint32_t part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
    for (Slot u : support::first_ids<Slot>(slots_.size())) {
      cell(set, u) = std::min(cell(set, u), cell(part, u) + cell(set ^ part, u));
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& edge : edges) {
      const Wide over = edge.cost + cell(set, edge.to);
      if (over >= cell(set, edge.from)) continue;
      cell(set, edge.from) = over;
      changed = true;
    }
  }
}

Wide FormatTrees::cost(place::FormatId written, uint32_t set) const {
  if (set == 0) return 0;
  const auto it = slots_.find(written);
  if (it == slots_.end()) return kUnreachable;
  return std::min(costs_[set * slots_.size() + it->second.slot()], kUnreachable);
}

}  // namespace collage::certificate
