// SPDX-License-Identifier: Apache-2.0
// `deny PATTERN where … because "…"`: sets of nodes that a backend must not hold together. So are those of
// `numerics PATTERN loses …`: all of them where special values are to be kept, else those after which the model tests
// for such a value.
#pragma once

#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

/// Where these statements of the backend match, by first node.
std::vector<Denied> find_denied(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                const Environment* environment);

/// The first that lies inside `nodes` (ascending), or null.
const Denied* denied_in(const std::vector<Denied>& denied, const std::vector<NodeId>& nodes);

/// Matches that hold a denied set become refusals, and so do those that a lowering refuses. `report` may be null.
void refuse_denied(const std::vector<Denied>& denied, std::vector<Match>* matches, MatchReport* report);

}  // namespace collage::match
