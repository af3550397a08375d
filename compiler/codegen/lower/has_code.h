// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// Returns whether code is generated for a node that runs alone; otherwise its reference kernel runs.
bool has_code(const ir::Graph& graph, ir::NodeId node);

}  // namespace collage::codegen
