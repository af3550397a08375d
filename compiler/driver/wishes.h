// SPDX-License-Identifier: Apache-2.0
// `--place`, `--forbid` and `--together` as typed -> wishes about nodes of the graph.
//
// Nodes are selected by the name of a result (`conv1`, `%conv1`), by a pattern over first results (`layer1*`), or by
// operator (`op:Conv`, `op:*Pool`).
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/options.h"
#include "compiler/ir/graph.h"
#include "compiler/place/wishes.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// In the order place, forbid, together. Nothing after errors: a form that is none, a selector that selects nothing.
std::optional<std::vector<place::Wish>> read_wishes(const Options& options, const ir::Graph& graph,
                                                    support::Diagnostics& diags);

}  // namespace collage::driver
