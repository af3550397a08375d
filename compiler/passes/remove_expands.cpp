// SPDX-License-Identifier: Apache-2.0
// Removes what only writes a shape out: operators that broadcast need no operand that has been broadcast before.
//
//     %e = Expand(%x, %shape)   %y = Add(%a, %e)     =>   %y = Add(%a, %x)            if %y keeps its shape
//     Tile that repeats extents of 1                 =>   likewise
//     %e = Expand(Expand(%x, ..), %shape)            =>   %e = Expand(%x, %shape)
//     Where(%c, %a, %b) with a constant %c that is true (or false) everywhere   =>   %a (%b), or Expand of it
//
// Exact. Arithmetic on shapes is left to fold_constants: all shapes are known, so that it is arithmetic on constants.
#include <algorithm>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::Node;
using ir::NodeId;
using ir::Shape;
using ir::ValueId;

/// Whether the node only repeats extents of 1.
bool is_expand(const GraphEdit& edit, const Node& node) {
  if (node.op->name == "Expand") return true;
  if (node.op->name != "Tile") return false;
  const Shape& from = edit.value(node.inputs[0]).type.shape;
  const Shape& to = edit.value(node.outputs[0]).type.shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != to[d] && from[d] != 1) return false;
  }
  return true;
}

/// Whether the node's result keeps its type with `by` as operand `replaced`.
bool keeps_type(const GraphEdit& edit, const Node& node, size_t replaced, ValueId by) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[replaced] = by;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const auto types = ir::infer_node(edit.graph(), *node.op, inputs, node.attrs, node.outputs.size(), {}, diags);
  return types && types->front() == edit.value(node.outputs[0]).type;
}

void shorten_operands(GraphEdit& edit, NodeId id) {
  for (size_t i = 0; i < edit.node(id).inputs.size(); ++i) {
    const Node& node = edit.node(id);
    if (!node.inputs[i].is_valid()) continue;
    const ir::Value& value = edit.value(node.inputs[i]);
    if (!value.producer.is_valid() || !edit.is_free(value.producer)) continue;
    const Node& expand = edit.node(value.producer);
    if (!is_expand(edit, expand)) continue;
    const ValueId from = expand.inputs[0];
    if (keeps_type(edit, node, i, from)) edit.set_input(id, i, from);
  }
}

void merge_expands(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const Node* inner = made_by(edit, node.inputs[0], "Expand");
  if (inner == nullptr) return;
  const ValueId result = node.outputs[0], from = inner->inputs[0];
  const ValueId shape = edit.add_ints(edit.value(result).name + ".shape", edit.value(result).type.shape);
  edit.replace_by(result, "Expand", {from, shape});
}

void choose(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const ir::Tensor* condition = ir::constant_operand(edit.graph(), node, 0);
  if (condition == nullptr || condition->count() == 0) return;
  const auto* bytes = reinterpret_cast<const uint8_t*>(condition->data());
  const bool is_true = bytes[0] != 0;
  if (!std::all_of(bytes, bytes + condition->count(), [=](uint8_t byte) { return (byte != 0) == is_true; })) return;
  const ValueId chosen = node.inputs[is_true ? 1 : 2], result = node.outputs[0];
  if (edit.value(chosen).type == edit.value(result).type) {
    if (edit.can_replace(result, chosen)) edit.replace(result, chosen);
    return;
  }
  const ValueId shape = edit.add_ints(edit.value(result).name + ".shape", edit.value(result).type.shape);
  edit.replace_by(result, "Expand", {chosen, shape});
}

}  // namespace

bool remove_expands(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    if (edit.node(id).op->is_pointwise) shorten_operands(edit, id);
    if (op == "Where") choose(edit, id);
    if (op == "Expand") merge_expands(edit, id);
  });
}

}  // namespace collage::passes
