// SPDX-License-Identifier: Apache-2.0
// Takes the nodes of a written partition apart into matches of one backend.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/place/candidates/candidates.h"

namespace collage::place {

/// What is to be covered.
struct CoverQuestion {
  const std::vector<ir::NodeId>& nodes;  ///< ascending
  std::vector<std::string> rules{};      ///< names of the rules to use, in any order; empty: any rules
  std::vector<ValueLayout> wanted{};     ///< layouts that the boundary should have
};

/// A way to make exactly the nodes of disjoint matches of one backend that can run one after another.
struct Cover {
  UnitUnion members;
  bool fits_formats = false;  ///< its boundary has the wanted layouts
};

struct CoverAnswer {
  std::optional<Cover> cover;
  bool gave_up = false;  ///< stopped after `kMaxCoverSteps`: there may be a cheaper cover, or one at all
};

inline constexpr size_t kMaxCoverSteps = 50'000;

/// Returns a cover in the wanted formats whose units, by first node, have the rules of the question in their order.
/// Without one it returns the cheapest cover of these rules that fits the formats, or else the cheapest; no cover if
/// there is none. Limits of the policy do not count.
CoverAnswer find_cover(const ir::Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
                       const CoverQuestion& question);

}  // namespace collage::place
