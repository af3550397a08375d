// SPDX-License-Identifier: Apache-2.0
// A set of nodes taken apart into matches of one backend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::place {

/// A way to make exactly `nodes` (ascending) of disjoint matches of one backend that can run one after another.
struct Cover {
  UnitUnion members;
  bool fits_formats = false;  ///< its boundary has the wanted layouts
};

/// The cheapest cover that fits the wanted formats, or else the cheapest; nothing if there is none. Limits of the
/// policy do not count. `rules`: the names of the rules to be used, in any order; empty: any.
std::optional<Cover> find_cover(const ir::Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
                                const std::vector<ir::NodeId>& nodes, const std::vector<std::string>& rules,
                                const std::vector<ValueLayout>& wanted);

}  // namespace collage::place
