// SPDX-License-Identifier: Apache-2.0
// Does a lowering ask for what its pattern means (lint/models/compare_meaning.h)? Part of a `test ok`.
#pragma once

#include "compiler/match/matcher.h"
#include "runtime/support/diagnostic.h"

namespace collage::rules_tool {

/// True where the kernels of all matches of `test` that have `nodes` compute the same as the model, or have no
/// semantics. What differs is reported. `first`, `end`: rules of the family.
bool lowerings_hold(const ir::Graph& graph, const ir::Backend& backend, size_t first, size_t end,
                    const ir::RuleTest& test, const std::vector<ir::NodeId>& nodes, support::Diagnostics& diags);

}  // namespace collage::rules_tool
