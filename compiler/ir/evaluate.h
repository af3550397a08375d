// SPDX-License-Identifier: Apache-2.0
// Runs operators on the compiler's side, by the reference kernels: constant folding (importer and pass), and whole
// graphs as the yardstick that other ways to run a model are compared with.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op_def.h"
#include "runtime/core/status.h"

namespace collage::ir {

/// One operator. An operand that is left out is an empty handle. `result_types` are those that inference gave; none
/// where nobody wants the result, whose tensor then is an empty handle.
runtime::Result<std::vector<Tensor>> evaluate_node(const OpDef& op, const std::vector<Tensor>& inputs,
                                                   const AttrMap& attrs,
                                                   const std::vector<std::optional<TensorType>>& result_types);

/// The results of a node whose operands are all constants, or that depends on the shapes of its operands alone.
/// Nothing if it is neither, if the results would take unreasonable space or work, if the node makes floats of
/// quantised weights, or if the kernel fails: the node then stays, and its failure shows when it runs.
///
///     %s = Shape(%x: f32[1, 64, 7, 7])   =>   const [1, 64, 7, 7]
std::optional<std::vector<Tensor>> evaluate_constant_node(const Graph& graph, const OpDef& op,
                                                          const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                          const std::vector<std::optional<TensorType>>& result_types);

/// A constant in the shortest form that keeps every bit: a splat where all elements are equal, else a literal.
Constant make_constant(Tensor data);

/// The whole graph, in id order; `inputs` in the order of `graph.inputs()`, of the declared types. Outputs in the order
/// of `graph.outputs()`.
runtime::Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace collage::ir
