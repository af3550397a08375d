// SPDX-License-Identifier: Apache-2.0
// Invariants of Graph and Placement, checked between stages.
#pragma once

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "runtime/support/diagnostic.h"

namespace collage::ir {

/// Ids dense and topological, use lists exact, names unique, arity and types as inference says.
/// A violation is a bug: it throws an InternalError that names the node.
void verify(const Graph& graph);

/// Checks a written placement: no node twice, partitions acyclic, each input in the format in which it is read,
/// conversions from formats that exist. Returns false after located errors. Nodes without partition are allowed.
bool verify(const Graph& graph, const Placement& placement, support::Diagnostics& diags);

}  // namespace collage::ir
