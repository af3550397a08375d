// SPDX-License-Identifier: Apache-2.0
// Runs some nodes of a graph by the reference kernels, on values that the caller has.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::ir {

/// Evaluates these nodes (ascending). `read` returns what they read and none of them makes, constants included; `made`
/// is called for each result and may change it. Returns the results by value slot, others are empty. Fails where `read`
/// returns an empty handle, and as `evaluate_node` does.
runtime::Result<std::vector<Tensor>> evaluate_nodes(const Graph& graph, const std::vector<NodeId>& nodes,
                                                    const std::function<Tensor(ValueId)>& read,
                                                    const std::function<void(ValueId, Tensor&)>& made = {});

}  // namespace collage::ir
