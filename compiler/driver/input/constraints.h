// SPDX-License-Identifier: Apache-2.0
// Reads `--place`, `--forbid` and `--together` as constraints on nodes of the graph; nodes are selected as
// `select_nodes.h` says.
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/input/requests.h"
#include "compiler/ir/graph.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// Returns them in the order place, forbid, together; nullopt after errors: a malformed option, a selector that selects
/// nothing.
std::optional<std::vector<place::Constraint>> read_constraints(const Settings& settings, const ir::Graph& graph,
                                                               support::Diagnostics& diags);

}  // namespace collage::driver
