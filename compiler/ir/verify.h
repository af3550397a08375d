// SPDX-License-Identifier: Apache-2.0
// Invariants of Graph and Placement, checked between stages.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/ir/placement.h"
#include "compiler/support/diagnostic.h"

namespace collage::ir {

/// Ids dense and topological, use lists exact, names unique, arity and types as inference says.
/// A violation is our fault: it is an InternalError naming the node.
void verify(const Graph& graph);

/// The user's placement: no node twice, partitions acyclic, each input in the format it is read in, conversions from
/// formats that exist. Located errors; true if there was none. Nodes without partition are allowed.
bool verify(const Graph& graph, const Placement& placement, support::Diagnostics& diags);

}  // namespace collage::ir
