// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/graph/graph.h"

#include "runtime/support/check.h"

namespace collage::ir {

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + runtime::to_string(type.shape);
}

std::vector<NodeId> Graph::node_ids() const {
  std::vector<NodeId> ids;
  ids.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) ids.emplace_back(static_cast<int64_t>(i));
  return ids;
}

std::vector<ValueId> Graph::value_ids() const {
  std::vector<ValueId> ids;
  ids.reserve(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) ids.emplace_back(static_cast<int64_t>(i));
  return ids;
}

ValueId Graph::add_value(Value value) {
  ValueId id(static_cast<int64_t>(values_.size()));
  COLLAGE_CHECK(!value.name.empty() && by_name_.find(value.name) == by_name_.end(), "value `{}`", value.name);
  by_name_.emplace(value.name, id);
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_input(std::string name, TensorType type, support::Span span) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.is_input = true;
  value.span = span;
  ValueId id = add_value(std::move(value));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string name, Constant constant, support::Span span) {
  Value value;
  value.name = std::move(name);
  value.type = {constant.data.dtype(), constant.data.shape()};
  value.constant = std::move(constant);
  value.span = span;
  return add_value(std::move(value));
}

NodeId Graph::add_node(const OpDef& op, std::vector<ValueId> inputs, AttrMap attrs,
                       std::vector<std::string> result_names, std::vector<TensorType> result_types,
                       support::Span span) {
  COLLAGE_CHECK(result_names.size() == result_types.size(), "results of a node");
  NodeId id(static_cast<int64_t>(nodes_.size()));
  Node node;
  node.op = &op;
  node.attrs = std::move(attrs);
  node.span = span;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_valid()) continue;
    COLLAGE_CHECK(inputs[i].slot() < values_.size(), "operand {}", i);
    value(inputs[i]).uses.push_back({id, static_cast<int>(i)});
  }
  node.inputs = std::move(inputs);
  for (size_t i = 0; i < result_names.size(); ++i) {
    if (result_names[i].empty()) {
      node.outputs.emplace_back();
      continue;
    }
    Value value;
    value.name = std::move(result_names[i]);
    value.type = std::move(result_types[i]);
    value.producer = id;
    value.result = static_cast<int>(i);
    value.span = span;
    node.outputs.push_back(add_value(std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::mark_output(ValueId id) {
  value(id).is_output = true;
  outputs_.push_back(id);
}

ValueId Graph::find_value(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? ValueId() : it->second;
}

NodeId Graph::find_node(std::string_view result_name) const {
  ValueId id = find_value(result_name);
  return id.is_valid() ? value(id).producer : NodeId();
}

ValueId Graph::first_output(NodeId id) const {
  for (ValueId output : node(id).outputs) {
    if (output.is_valid()) return output;
  }
  return ValueId();
}

const std::string& Graph::node_name(NodeId id) const {
  return value(first_output(id)).name;
}

std::string Graph::unique_name(std::string_view base, const Graph* beside) const {
  const auto is_taken = [&](const std::string& name) {
    return find_value(name).is_valid() || (beside != nullptr && beside->find_value(name).is_valid());
  };
  std::string name(base);
  for (int i = 1; is_taken(name); ++i) name = std::string(base) + "." + std::to_string(i);
  return name;
}

}  // namespace collage::ir
