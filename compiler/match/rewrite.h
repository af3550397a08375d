// SPDX-License-Identifier: Apache-2.0
// Applies one rewrite of a rule file to a graph, wherever its left side matches.
//
//     rewrite square: Pow(x, two: const) => Mul(x, x) when value(two) == 2
//
//     %y = Pow(%x, %c)   =>   %y = Mul(%x, %x)
//
// A match is left alone, with a reason, where a node that would go away is pinned, has a result that others read, or
// where the right side has another type than the left. What the rewrite made it does not match again, and each match
// takes at least one node away: so it ends. Nodes that only served what is gone go as well.
#pragma once

#include <vector>

#include "compiler/match/matcher.h"

namespace collage::match {

struct RewriteReport {
  int applied = 0;
  std::vector<Refusal> refusals;  ///< matches that were left alone
};

/// The backend with the left side as its only rule: for `match_rule`.
ir::Backend left_side_alone(const ir::Backend& backend, const ir::Rewrite& rewrite);

/// True if the graph changed.
bool apply_rewrite(Graph& graph, const ir::Backend& backend, const ir::Rewrite& rewrite, const AttrValues& attrs,
                   RewriteReport* report = nullptr, const Environment* environment = nullptr);

}  // namespace collage::match
