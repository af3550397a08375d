// SPDX-License-Identifier: Apache-2.0
// `--place`, `--forbid` and `--together` as typed -> wishes about nodes of the graph.
//
// Nodes go by what `select_nodes.h` says.
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/input/options.h"
#include "compiler/ir/graph.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// In the order place, forbid, together. Nothing after errors: a form that is none, a selector that selects nothing.
std::optional<std::vector<place::Wish>> read_wishes(const Options& options, const ir::Graph& graph,
                                                    support::Diagnostics& diags);

}  // namespace collage::driver
