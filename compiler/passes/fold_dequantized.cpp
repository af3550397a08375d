// SPDX-License-Identifier: Apache-2.0
// Dequantises weights that no operator on integers takes, once instead of in every run. Exact.
//
//     %wf = DequantizeLinear(%w: const, %s, %z)   %y = Conv(%x, %wf)     =>   %y = Conv(%x, %wf: const f32)
//
// Expects that fuse_quantized had its turn. Models whose weights would become larger than kMostBytes keep all of them
// as they are.
#include <algorithm>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/operands.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

constexpr size_t kMostBytes = size_t{2} << 30U;

bool is_constant_conversion(const ir::Graph& graph, const ir::Node& node) {
  if (node.op->name != "DequantizeLinear" || node.pin || graph.value(node.outputs[0]).is_output) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return !id.is_valid() || graph.value(id).is_constant(); });
}

}  // namespace

bool fold_dequantized(ir::Graph& graph, PassContext&) {
  size_t bytes = 0;
  for (NodeId id : graph.node_ids()) {
    if (is_constant_conversion(graph, graph.node(id))) bytes += graph.value(graph.first_output(id)).type.bytes();
  }
  if (bytes == 0 || bytes > kMostBytes) return false;
  std::vector<bool> is_folded(graph.node_count(), false);
  bool has_changed = false;
  for (NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    if (!is_constant_conversion(graph, node)) continue;
    std::vector<ir::Tensor> operands;
    for (ValueId input : node.inputs) {
      operands.push_back(input.is_valid() ? graph.value(input).constant->data : ir::Tensor());
    }
    auto results = ir::evaluate_node(*node.op, operands, node.attrs, {graph.value(node.outputs[0]).type});
    if (!results) continue;
    graph.value(node.outputs[0]).constant = ir::make_constant((*results)[0]);
    is_folded[id.slot()] = has_changed = true;
  }
  if (!has_changed) return false;
  graph = ir::without_nodes(graph, is_folded);
  return true;
}

}  // namespace collage::passes
