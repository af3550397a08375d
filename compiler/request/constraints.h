// SPDX-License-Identifier: Apache-2.0
// Reads `--place`, `--forbid` and `--together` as constraints on nodes of the graph; nodes are selected as
// `select_nodes.h` says.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/request/requests.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// Returns them in the order place, forbid, together; nullopt after errors: a malformed option, a selector that selects
/// nothing.
std::optional<std::vector<place::Constraint>> read_constraints(const Settings& settings, const ir::Graph& graph,
                                                               support::Diagnostics& diags);

/// Names of the nodes of a part of the model that `--together` selects.
std::set<std::string> together_in_part(const std::string& text, const ir::Graph& part,
                                       const support::Diagnostics& diags);

/// The part of an option about nodes in a part of the model; empty: none. `is_together`: for `--together`, which has
/// two nodes at least.
std::string constraint_in_part(const std::string& text, bool is_together, const ir::Graph& part,
                               const support::Diagnostics& diags);

}  // namespace collage::request
