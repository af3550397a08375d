// SPDX-License-Identifier: Apache-2.0
// Evaluates nodes whose operands are all constants, by the reference kernels.
//
//     %s = Shape(%x)                               =>   const [1, 64, 7, 7]
//     %w2 = Transpose(%w: const) {perm = [1, 0]}   =>   const …
//
// Results that are outputs of the model remain results of nodes. Limits on size and work are in
// `ir/analysis/evaluate.cpp`; what exceeds them remains, too.
#include <algorithm>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::NodeId;
using ir::TensorType;
using ir::ValueId;

bool is_candidate(const ir::Graph& graph, const ir::Node& node) {
  if (node.pin) return false;
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&graph](ValueId id) { return id.is_valid() && graph.value(id).is_output; });
}

}  // namespace

bool fold_constants(ir::Graph& graph, PassContext& context) {
  // Evaluated in id order on the graph itself: a folded result is a constant operand of the nodes after it.
  std::vector<bool> is_folded(graph.node_count(), false);
  bool changed = false;
  for (NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    if (!is_candidate(graph, node)) continue;
    std::vector<std::optional<TensorType>> types;
    for (ValueId output : node.outputs) {
      types.push_back(output.is_valid() ? std::optional(graph.value(output).type) : std::nullopt);
    }
    auto results = ir::evaluate_constant_node(graph, *node.op, node.inputs, node.attrs, types, context.fold_budget);
    if (!results) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) graph.value(node.outputs[i]).constant = ir::make_constant((*results)[i]);
    }
    is_folded[id.slot()] = true;
    changed = true;
  }
  if (!changed) return false;
  graph = ir::without_nodes(graph, is_folded);
  return true;
}

}  // namespace collage::passes
