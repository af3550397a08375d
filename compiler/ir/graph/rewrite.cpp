// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/graph/rewrite.h"

#include "runtime/support/check.h"

namespace collage::ir {

GraphRewriter::GraphRewriter(const Graph& from)
    : from_(from), map_(from.value_count()), new_names_(from.value_count()) {
  to_.name = from.name;
  for (ValueId input : from.inputs()) {
    const Value& value = from.value(input);
    map_[input.slot()] = to_.add_input(value.name, value.type, value.span);
  }
}

ValueId GraphRewriter::copied(ValueId old) {
  if (!old.is_valid()) return {};
  ValueId& copy = map_[old.slot()];
  const Value& value = from_.value(old);
  if (!copy.is_valid() && value.is_constant()) copy = to_.add_constant(value.name, *value.constant, value.span);
  COLLAGE_CHECK(copy.is_valid(), "`{}` is used before it was copied", value.name);
  return copy;
}

void GraphRewriter::replace(ValueId old, ValueId by) {
  map_[old.slot()] = by;
}

void GraphRewriter::rename(ValueId old, std::string name) {
  new_names_[old.slot()] = std::move(name);
}

NodeId GraphRewriter::copy(NodeId old) {
  const Node& node = from_.node(old);
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) inputs.push_back(copied(input));
  return copy_as(old, *node.op, std::move(inputs), node.attrs);
}

NodeId GraphRewriter::copy_as(NodeId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs) {
  const Node& node = from_.node(old);
  std::vector<std::string> names;
  std::vector<TensorType> types;
  for (ValueId output : node.outputs) {
    const bool is_wanted = output.is_valid();
    const std::string* new_name = is_wanted ? &new_names_[output.slot()] : nullptr;
    names.push_back(!is_wanted ? "" : new_name->empty() ? from_.value(output).name : *new_name);
    types.push_back(is_wanted ? from_.value(output).type : TensorType{});
  }
  NodeId id = to_.add_node(op, std::move(new_inputs), std::move(attrs), std::move(names), std::move(types), node.span);
  to_.node(id).pin = node.pin;
  to_.node(id).origin = node.origin;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].is_valid()) continue;
    map_[node.outputs[i].slot()] = to_.node(id).outputs[i];
    to_.value(to_.node(id).outputs[i]).span = from_.value(node.outputs[i]).span;
  }
  return id;
}

ValueId GraphRewriter::add_constant(std::string_view base, Constant constant) {
  return to_.add_constant(fresh_name(base), std::move(constant));
}

ValueId GraphRewriter::add_node(const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs, std::string_view base,
                                TensorType type) {
  return to_.first_output(
      to_.add_node(op, std::move(new_inputs), std::move(attrs), {fresh_name(base)}, {std::move(type)}));
}

ValueId GraphRewriter::add_result(ValueId old, const OpDef& op, std::vector<ValueId> new_inputs, AttrMap attrs) {
  const Value& value = from_.value(old);
  const Node& producer = from_.node(value.producer);
  const std::string& name = new_names_[old.slot()].empty() ? value.name : new_names_[old.slot()];
  NodeId id = to_.add_node(op, std::move(new_inputs), std::move(attrs), {name}, {value.type}, producer.span);
  to_.node(id).origin = producer.origin;
  ValueId result = to_.first_output(id);
  to_.value(result).span = value.span;
  map_[old.slot()] = result;
  return result;
}

std::string GraphRewriter::fresh_name(std::string_view base) const {
  return to_.unique_name(base, &from_);
}

Graph GraphRewriter::finish() {
  for (ValueId output : from_.outputs()) to_.mark_output(copied(output));
  return std::move(to_);
}

Graph without_nodes(const Graph& graph, const std::vector<bool>& is_removed) {
  GraphRewriter rewriter(graph);
  for (NodeId id : graph.node_ids()) {
    if (!is_removed[id.slot()]) rewriter.copy(id);
  }
  return rewriter.finish();
}

}  // namespace collage::ir
