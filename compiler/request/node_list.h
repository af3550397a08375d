// SPDX-License-Identifier: Apache-2.0
// The nodes of a model, by the names that options take.
#pragma once

#include <string>

#include "compiler/ir/graph/graph.h"
#include "runtime/support/source_manager.h"

namespace collage::request {

/// A line for each node: its name, operator, results, and where it is written if that is known.
///
///     %c  Conv  f32[1, 16, 12, 12]  m.ir:4
///     %y  Relu  f32[1, 16, 12, 12]  m.ir:5
std::string list_nodes(const ir::Graph& graph, const support::SourceManager& sources);

}  // namespace collage::request
