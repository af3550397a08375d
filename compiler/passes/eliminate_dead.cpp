// SPDX-License-Identifier: Apache-2.0
// Removes nodes that reach no output, and constants without a reader. Also removes Identity and Dropout (which does
// nothing in inference) unless the name of an output forbids it.
//
//     %b = Identity(%a)   %c = Relu(%b)     =>   %c = Relu(%a)
//     %a = Relu(%x)       %out = Identity(%a)   =>   %out = Relu(%x)     if %a is not an output
//
// `%out = Identity(%x)` of an input or a constant stays: an output is a result of a node.
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

std::vector<bool> live_nodes(const ir::Graph& graph) {
  std::vector<bool> is_live(graph.node_count(), false);
  for (size_t i = graph.node_count(); i-- > 0;) {
    const ir::Node& node = graph.node(NodeId(static_cast<int64_t>(i)));
    bool live = node.pin.has_value();
    for (ValueId output : node.outputs) {
      if (!output.is_valid()) continue;
      const ir::Value& value = graph.value(output);
      live = live || value.is_output;
      for (const ir::Use& use : value.uses) live = live || is_live[use.node.slot()];
    }
    is_live[i] = live;
  }
  return is_live;
}

/// Returns the operand of which the node's only used result is a copy; invalid if it is not a copy.
ValueId copied_operand(const ir::Graph& graph, const ir::Node& node) {
  if (node.pin || (node.op->name != "Identity" && node.op->name != "Dropout")) return {};
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].is_valid()) continue;
    const ir::Value& mask = graph.value(node.outputs[i]);
    if (mask.is_output || !mask.uses.empty()) return {};
  }
  return node.outputs[0].is_valid() ? node.inputs[0] : ValueId();
}

}  // namespace

bool eliminate_dead(ir::Graph& graph, PassContext&) {
  std::vector<bool> is_live = live_nodes(graph);
  // Value -> the value it copies, through chains of copies; itself if it is not a copy.
  std::vector<ValueId> origin = graph.value_ids();
  // Value -> the model output whose name its producer takes over.
  std::vector<ValueId> carries(graph.value_count());
  std::vector<bool> is_removed(graph.node_count(), false);
  bool changed = false;
  for (NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    if (!is_live[id.slot()]) {
      is_removed[id.slot()] = true;
      changed = true;
      continue;
    }
    ValueId operand = copied_operand(graph, node);
    if (!operand.is_valid()) continue;
    ValueId source = origin[operand.slot()];
    ValueId result = node.outputs[0];
    if (graph.value(result).is_output) {
      const ir::Value& made = graph.value(source);
      if (!made.producer.is_valid() || made.is_output || carries[source.slot()].is_valid()) continue;
      carries[source.slot()] = result;
    }
    origin[result.slot()] = source;
    is_removed[id.slot()] = true;
    changed = true;
  }
  for (ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    changed = changed || (value.is_constant() && value.uses.empty() && !value.is_output);
  }
  if (!changed) return false;

  ir::GraphRewriter rewriter(graph);
  for (ValueId id : graph.value_ids()) {
    if (carries[id.slot()].is_valid()) rewriter.rename(id, graph.value(carries[id.slot()]).name);
  }
  for (NodeId id : graph.node_ids()) {
    if (!is_removed[id.slot()]) {
      rewriter.copy(id);
    } else if (is_live[id.slot()]) {
      ValueId result = graph.node(id).outputs[0];
      rewriter.replace(result, rewriter.copied(origin[result.slot()]));
    }
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace collage::passes
