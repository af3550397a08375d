// SPDX-License-Identifier: Apache-2.0
// Moves elements as integers, before they are dequantised and after they are quantised: fewer bytes move, and products
// and conversions meet, which fuse_quantized takes up. Exact.
//
//     Transpose(DequantizeLinear(%x, %s, %z))             =>   DequantizeLinear(Transpose(%x), %s, %z)
//     Gather(DequantizeLinear(%table, %s, %z), %ids)      =>   DequantizeLinear(Gather(%table, %ids), %s, %z)
//     Concat(DequantizeLinear(%a, %s, %z), DequantizeLinear(%b, %s, %z))
//                                                         =>   DequantizeLinear(Concat(%a, %b), %s, %z)
//     QuantizeLinear(Reshape(%x), %s, %z)                 =>   Reshape(QuantizeLinear(%x, %s, %z))
//                                                              where %x is made by a product or its activation
//
// With one scale for all elements; a Transpose also where the scale is per channel. Blocks of one scale stay: elements
// that move leave them. Only conversions that nothing else reads.
#include <algorithm>
#include <numeric>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool keeps_elements(std::string_view op) {
  return op == "Flatten" || op == "Reshape" || op == "Squeeze" || op == "Transpose" || op == "Unsqueeze";
}

/// Operators whose results are elements of their first operand. (Pools and Slice stand there too: fuse_quantized.)
bool picks_elements(const Node& node) {
  static constexpr std::string_view kOps[] = {"DepthToSpace", "Gather", "Slice", "SpaceToDepth"};
  const std::string_view op = node.op->name;
  return keeps_elements(op) || std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

/// A conversion whose scale and zero point are constants, of all elements or of the channels.
const Node* constant_conversion(const GraphEdit& edit, const Node* node) {
  if (node == nullptr || node->inputs.size() < 2 || node->inputs.size() > 3) return nullptr;
  if (ir::attrs_of(*node).int_of("block_size") != 0) return nullptr;
  if (!edit.value(node->inputs[1]).is_constant()) return nullptr;
  return !ir::has_operand(*node, 2) || edit.value(node->inputs[2]).is_constant() ? node : nullptr;
}

bool has_one_scale(const GraphEdit& edit, const Node& conversion) {
  return edit.value(conversion.inputs[1]).constant->data.count() == 1;
}

bool have_equal_elements(const GraphEdit& edit, ValueId a, ValueId b) {
  if (a == b) return true;
  if (!a.is_valid() || !b.is_valid() || edit.value(a).type != edit.value(b).type) return false;
  const ir::Tensor &left = edit.value(a).constant->data, &right = edit.value(b).constant->data;
  return std::equal(left.data(), left.data() + left.bytes(), right.data());
}

ValueId zero_of(const Node& conversion) {
  return ir::has_operand(conversion, 2) ? conversion.inputs[2] : ValueId();
}

/// The conversion's operands with another first one.
std::vector<ValueId> converted_operands(const Node& conversion, ValueId first) {
  std::vector<ValueId> inputs = conversion.inputs;
  inputs[0] = first;
  return inputs;
}

/// Where the scales of a conversion lie after `transpose`.
AttrMap transposed_axis(const GraphEdit& edit, const Node& conversion, const Node& transpose) {
  AttrMap attrs = conversion.attrs;
  if (has_one_scale(edit, conversion)) return attrs;
  const auto rank = static_cast<int64_t>(edit.value(conversion.inputs[0]).type.shape.size());
  std::vector<int64_t> perm = ir::attrs_of(transpose).ints_of("perm");
  if (perm.empty()) {
    perm.resize(static_cast<size_t>(rank));
    std::iota(perm.rbegin(), perm.rend(), int64_t{0});
  }
  const int64_t axis = ir::attrs_of(conversion).int_of("axis");
  const auto found = std::find(perm.begin(), perm.end(), axis < 0 ? axis + rank : axis);
  attrs.set("axis", static_cast<int64_t>(found - perm.begin()));
  return attrs;
}

void sink_dequantize(GraphEdit& edit, NodeId id) {
  const Node node = edit.node(id);
  const Node* found = constant_conversion(edit, private_made_by(edit, node.inputs[0], "DequantizeLinear"));
  if (found == nullptr || (!has_one_scale(edit, *found) && node.op->name != "Transpose")) return;
  // More elements would be more work.
  if (edit.value(node.outputs[0]).type.bytes() > edit.value(node.inputs[0]).type.bytes()) return;
  const Node conversion = *found;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = conversion.inputs[0];
  AttrMap attrs = node.op->name == "Transpose" ? transposed_axis(edit, conversion, node) : conversion.attrs;
  const ValueId moved = edit.add(node.op->name, std::move(inputs), node.attrs, id);
  edit.replace_by(node.outputs[0], "DequantizeLinear", converted_operands(conversion, moved), std::move(attrs));
}

void sink_below_concat(GraphEdit& edit, NodeId id) {
  const Node node = edit.node(id);
  std::vector<ValueId> inputs;
  std::optional<Node> first;
  for (ValueId input : node.inputs) {
    const Node* conversion = constant_conversion(edit, private_made_by(edit, input, "DequantizeLinear"));
    if (conversion == nullptr || !has_one_scale(edit, *conversion)) return;
    if (!first) first = *conversion;
    const bool has_zero_point = zero_of(*conversion).is_valid() || zero_of(*first).is_valid();
    if (edit.value(conversion->inputs[0]).type.dtype != edit.value(first->inputs[0]).type.dtype ||
        !have_equal_elements(edit, conversion->inputs[1], first->inputs[1]) ||
        (has_zero_point && !have_equal_elements(edit, zero_of(*conversion), zero_of(*first)))) {
      return;
    }
    inputs.push_back(conversion->inputs[0]);
  }
  if (inputs.size() < 2) return;
  const ValueId joined = edit.add("Concat", std::move(inputs), node.attrs, id);
  edit.replace_by(node.outputs[0], "DequantizeLinear", converted_operands(*first, joined), first->attrs);
}

/// Whether a QuantizeLinear at `id`, or before the movements that make it, meets what can become one on integers.
bool may_meet(const GraphEdit& edit, ValueId id) {
  static constexpr std::string_view kOps[] = {"Clip", "Conv",   "ConvTranspose", "DequantizeLinear",
                                              "Gemm", "MatMul", "Relu"};
  constexpr int kMostMovements = 8;
  for (int movements = 0; movements <= kMostMovements; ++movements) {
    const ir::Value& value = edit.value(id);
    if (!value.producer.is_valid() || !edit.is_free(value.producer)) return false;
    const Node& node = edit.node(value.producer);
    if (!keeps_elements(node.op->name) || !is_read_by(edit, id, 1)) {
      return std::find(std::begin(kOps), std::end(kOps), node.op->name) != std::end(kOps);
    }
    id = node.inputs[0];
  }
  return false;
}

void raise_quantize(GraphEdit& edit, NodeId id) {
  const Node* found = constant_conversion(edit, &edit.node(id));
  const NodeId before = edit.value(edit.node(id).inputs[0]).producer;
  if (found == nullptr || !has_one_scale(edit, *found) || !before.is_valid() || !edit.is_free(before)) return;
  const Node conversion = *found, movement = edit.node(before);
  if (!keeps_elements(movement.op->name) || !is_read_by(edit, conversion.inputs[0], 1)) return;
  if (!may_meet(edit, movement.inputs[0])) return;
  const ValueId quantized =
      edit.add("QuantizeLinear", converted_operands(conversion, movement.inputs[0]), conversion.attrs, before);
  std::vector<ValueId> inputs = movement.inputs;
  inputs[0] = quantized;
  edit.replace_by(conversion.outputs[0], movement.op->name, std::move(inputs), movement.attrs);
}

}  // namespace

bool move_quantized(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const Node& node = edit.node(id);
    if (node.outputs.size() != 1) return;
    if (picks_elements(node)) return sink_dequantize(edit, id);
    if (node.op->name == "Concat") return sink_below_concat(edit, id);
    if (node.op->name == "QuantizeLinear") raise_quantize(edit, id);
  });
}

}  // namespace collage::passes
