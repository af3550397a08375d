// SPDX-License-Identifier: Apache-2.0
// The cheapest way to give one value all the formats that its readers want: St(w, F) of the placement problem.
//
// Before: formats as nodes, conversions as directed edges of non-negative cost.
// After: a least-cost arborescence from `root` that reaches every wanted format; inner formats may be ones that no
// reader wants (one copy to the device, then two reorders there). Exact: Dreyfus and Wagner's dynamic program over
// subsets of the wanted formats, "The Steiner problem in graphs", Networks 1 (1971), on a directed graph.
//
// For more wanted formats, as where a mask is read on a hundred hosts, a tree that may cost more than the cheapest: it
// grows to the nearest wanted format each time (Takahashi and Matsuyama, "An approximate solution for the Steiner
// problem in graphs", Math. Japonica 24, 1980). Where every wanted format has its cheapest edge from one nearer to the
// root, it is the cheapest.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Up to so many formats of one value at once the answer is exact in all cases: the table has 2^wanted rows.
inline constexpr size_t kMaxWantedFormats = 12;

struct Arborescence {
  Cost cost;                          ///< `Cost::max()`: some wanted format cannot be reached
  std::vector<ConversionEdge> edges;  ///< an edge stands after the one that makes its source; none if unreachable

  bool reachable() const { return cost < Cost::max(); }
};

/// Returns an arborescence with the fewest edges among the cheapest; the order of `edges` and `wanted` does not matter.
Arborescence cheapest_arborescence(std::vector<ConversionEdge> edges, FormatId root, std::vector<FormatId> wanted);

}  // namespace collage::place
