// SPDX-License-Identifier: Apache-2.0
// The operator table, made of ops.def on first use.
#include "compiler/ir/ops/op_def.h"

#include <algorithm>

#include "compiler/ir/ops/define.h"

namespace collage::ir {
namespace {

/// Adds the name, and what follows for a pointwise operator.
OpDef completed(OpDef op, std::string_view name) {
  op.name = name;
  if (op.is_pointwise && op.cut == CutFamily::None) op.cut = CutFamily::Elementwise;
  if (op.is_pointwise && op.rows.rule == RowRule::None) {
    op.rows = {RowRule::Pointwise, op.max_inputs > 1 ? "mixes it with another dimension" : "mixes it"};
  }
  return op;
}

/// In the order of ops.def, which is sorted.
const std::vector<OpDef>& op_table() {
  static const std::vector<OpDef> table = {
#define OP(name) completed(ops::define_##name(), #name),
#include "compiler/ir/ops/ops.def"
#undef OP
  };
  return table;
}

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (ValueId value : values) types.push_back(value.is_valid() ? graph.value(value).type : TensorType{});
  return types;
}

double bytes_of_values(const Graph& graph, const std::vector<ValueId>& values) {
  double bytes = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    bool seen = std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
                values.begin() + static_cast<std::ptrdiff_t>(i);
    if (values[i].is_valid() && !seen) bytes += static_cast<double>(graph.value(values[i]).type.bytes());
  }
  return bytes;
}

}  // namespace

std::string_view name_of(FusionKind kind) {
  switch (kind) {
    case FusionKind::Elementwise: return "elementwise";
    case FusionKind::Broadcast: return "broadcast";
    case FusionKind::Injective: return "injective";
    case FusionKind::Reduce: return "reduce";
    case FusionKind::OutFusable: return "out_fusable";
    case FusionKind::Opaque: return "opaque";
  }
  return "";
}

const AttrDef* OpDef::find_attr(std::string_view attr) const {
  auto it = std::find_if(attrs.begin(), attrs.end(), [&](const AttrDef& def) { return def.name == attr; });
  return it == attrs.end() ? nullptr : &*it;
}

const OpDef* find_op(std::string_view name) {
  const std::vector<OpDef>& table = op_table();
  auto it = std::lower_bound(table.begin(), table.end(), name,
                             [](const OpDef& op, std::string_view wanted) { return op.name < wanted; });
  return it != table.end() && it->name == name ? &*it : nullptr;
}

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef& op : op_table()) ops.push_back(&op);
  return ops;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef& op : op_table()) names.emplace_back(op.name);
  return names;
}

size_t commuting_operands(const OpDef& op, size_t operands) {
  if (!op.commutative) return 0;
  return op.max_inputs == OpDef::kVariadic ? operands : std::min<size_t>(2, operands);
}

Work work_of(const Graph& graph, NodeId node_id) {
  const Node& node = graph.node(node_id);
  std::vector<TensorType> inputs = types_of(graph, node.inputs);
  std::vector<TensorType> outputs = types_of(graph, node.outputs);
  // Work is counted on result 0; if it is unused, the first used result replaces it.
  if (!node.outputs.empty() && !node.outputs[0].is_valid()) {
    ValueId wanted = graph.first_output(node_id);
    if (wanted.is_valid()) outputs[0] = graph.value(wanted).type;
  }
  return node.op->work({inputs, outputs, attrs_of(node)});
}

double bytes_of(const Graph& graph, NodeId node_id) {
  const Node& node = graph.node(node_id);
  return bytes_of_values(graph, node.inputs) + bytes_of_values(graph, node.outputs);
}

}  // namespace collage::ir
