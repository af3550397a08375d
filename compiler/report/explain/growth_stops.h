// SPDX-License-Identifier: Apache-2.0
// What keeps a candidate from being larger: the limits of `partition { … }` that its unions with neighbouring matches
// would break.
#pragma once

#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::report {

struct GrowthStop {
  std::vector<ir::NodeId> added;  ///< of the match that may not join
  std::string why;                ///< `5 operators, limit 4`
};

/// By the first node that would join; equal reasons once. `nodes` ascending.
std::vector<GrowthStop> growth_stops(const ir::Graph& graph, const ir::Backend& backend,
                                     const place::BackendCandidates& found, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::report
