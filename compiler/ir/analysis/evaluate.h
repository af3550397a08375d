// SPDX-License-Identifier: Apache-2.0
// Runs operators in the compiler, by the reference kernels: constant folding (importer and pass), and whole graphs as
// the reference for every other way to run a model.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/status.h"

namespace collage::ir {

/// Evaluates one operator. An operand that is left out is an empty handle. `result_types` come from inference; an
/// unused result has no type and an empty handle.
runtime::Result<std::vector<Tensor>> evaluate_node(const OpDef& op, const std::vector<Tensor>& inputs,
                                                   const AttrMap& attrs,
                                                   const std::vector<std::optional<TensorType>>& result_types);

/// Bytes that folding may still add to one graph: 256 MiB, and twice what its constants take when it begins. A few
/// nodes can double a constant again and again.
class FoldBudget {
 public:
  /// For results of so many bytes from these operands. False where that is more than what is left; then nothing is
  /// taken. Constants that are not made yet (runtime/core/element_source.h) are all folded, or only up to 512 MiB where
  /// they take more than 8 GiB together.
  bool take(const Graph& graph, const std::vector<ValueId>& read, double bytes);

 private:
  /// Bytes of constants that would be made; nullopt where that is more than what is left.
  std::optional<double> may_read(const Graph& graph, const std::vector<ValueId>& read);

  std::optional<double> left_;
  std::optional<double> late_left_{};
};

/// Evaluates a node whose operands are all constants, or that depends only on the shapes of its operands. Returns
/// nullopt for other nodes, if the results would need unreasonable space or work or more than the budget has, if the
/// node converts quantised weights to floats, or if the kernel fails: the node then remains, and fails when it runs.
///
///     %s = Shape(%x: f32[1, 64, 7, 7])   =>   const [1, 64, 7, 7]
std::optional<std::vector<Tensor>> evaluate_constant_node(const Graph& graph, const OpDef& op,
                                                          const std::vector<ValueId>& inputs, const AttrMap& attrs,
                                                          const std::vector<std::optional<TensorType>>& result_types,
                                                          FoldBudget& budget);

/// Returns a constant in the shortest exact form: a splat if all elements are equal, else a literal.
Constant make_constant(Tensor data);

/// Evaluates the whole graph, in id order; `inputs` in the order of `graph.inputs()`, of the declared types. Returns
/// the outputs in the order of `graph.outputs()`.
runtime::Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace collage::ir
