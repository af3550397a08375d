// SPDX-License-Identifier: Apache-2.0
// How options name nodes: by the name of a result (`conv1`, `%conv1`), by a pattern over first results (`layer1*`), by
// operator (`op:Conv`, `op:*Pool`), or by where they are written (`model.ir:12`, `model.ir:12-20`; `:12` in short): all
// whose names stand on these lines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// The nodes in ascending order, at least one. Returns nullopt after an error, reported at `option`, where the selector
/// selects none.
std::optional<std::vector<ir::NodeId>> select_nodes(std::string selector, const ir::Graph& graph,
                                                    const std::string& option, support::Diagnostics& diags);

}  // namespace collage::request
