// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/lower/lower_group.h"

#include <algorithm>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/joined.h"

namespace collage::codegen {
namespace {

// Finds empty tensors, which lowerings do not handle.
bool touches_nothing(const ir::Graph& graph, ir::NodeId id) {
  auto is_empty = [&](ir::ValueId v) { return v.is_valid() && runtime::element_count(graph.value(v).type.shape) == 0; };
  const ir::Node& node = graph.node(id);
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_empty) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_empty);
}

bool touches_nothing(const ir::Graph& graph, const Group& group) {
  return std::any_of(group.nodes.begin(), group.nodes.end(), [&](ir::NodeId id) { return touches_nothing(graph, id); });
}

}  // namespace

std::vector<KernelSketch> lower_group(const LoweringContext& context, const Group& group) {
  if (group.stored.empty() || touches_nothing(context.graph, group)) return {};
  if (group.moves) return lower_moved_rows(context, group);
  if (!group.rows.empty()) {
    return group.anchor.is_valid() ? lower_attention(context, group) : lower_row_group(context, group);
  }
  if (!group.anchor.is_valid()) {
    bool copies = group.nodes.size() == 1 && whole_copy(context.graph, group.nodes[0]);
    return copies ? lower_movement(context, group) : lower_pointwise(context, group);
  }
  const Lowering* lowering = find_lowering(context.graph.node(group.anchor).op->name);
  if (lowering == nullptr || !lowering->accepts(context.graph, group.anchor)) return {};
  return lowering->lower(context, group);
}

std::string no_code_reason(const ir::Graph& graph, ir::NodeId node) {
  if (touches_nothing(graph, node)) return "an operand or result without elements";
  const ir::Node& described = graph.node(node);
  if (!has_pointwise_form(described.op->name) && find_lowering(described.op->name) == nullptr) {
    return "no generator has this operator";
  }
  const std::string operands = runtime::joined(described.inputs, ", ", [&](ir::ValueId input) {
    return input.is_valid() ? ir::to_string(graph.value(input).type) : "_";
  });
  return "no generator takes (" + operands + ") with these attributes";
}

}  // namespace collage::codegen
