// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/verify.h"

#include <map>
#include <set>

#include "compiler/ir/analysis/infer.h"
#include "runtime/support/check.h"

namespace collage::ir {
namespace {

void verify_values(const Graph& graph) {
  std::set<std::string_view> names;
  for (ValueId id : graph.value_ids()) {
    const Value& value = graph.value(id);
    COLLAGE_CHECK(!value.name.empty() && names.insert(value.name).second, "the name `{}` is not unique", value.name);
    COLLAGE_CHECK(graph.find_value(value.name) == id, "`{}` is not found by its name", value.name);
    int origins = (value.is_input ? 1 : 0) + (value.is_constant() ? 1 : 0) + (value.producer.is_valid() ? 1 : 0);
    COLLAGE_CHECK(origins == 1, "`{}` has {} origins", value.name, origins);
    if (value.constant) {
      TensorType held{value.constant->data.dtype(), value.constant->data.shape()};
      COLLAGE_CHECK(held == value.type, "constant `{}` is {}, its elements are {}", value.name, to_string(value.type),
                    to_string(held));
    }
    if (value.producer.is_valid()) {
      COLLAGE_CHECK(value.producer.slot() < graph.node_count(), "`{}` has no such producer", value.name);
      const Node& producer = graph.node(value.producer);
      COLLAGE_CHECK(static_cast<size_t>(value.result) < producer.outputs.size() &&
                        producer.outputs[static_cast<size_t>(value.result)] == id,
                    "`{}` is not a result of its producer", value.name);
    }
  }
  for (ValueId id : graph.inputs())
    COLLAGE_CHECK(graph.value(id).is_input, "`{}` is not an input", graph.value(id).name);
  for (ValueId id : graph.outputs())
    COLLAGE_CHECK(graph.value(id).is_output, "`{}` is not an output", graph.value(id).name);
}

void verify_node(const Graph& graph, NodeId id, std::map<ValueId, size_t>& uses) {
  const Node& node = graph.node(id);
  COLLAGE_CHECK(node.op != nullptr && graph.first_output(id).is_valid(), "node {} has no operator or no result",
                id.index);
  const std::string& name = graph.node_name(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId input = node.inputs[i];
    if (!input.is_valid()) continue;
    COLLAGE_CHECK(input.slot() < graph.value_count(), "operand {} of `{}` does not exist", i, name);
    const Value& value = graph.value(input);
    COLLAGE_CHECK(!value.producer.is_valid() || value.producer < id, "`{}` reads `{}`, which is made later", name,
                  value.name);
    ++uses[input];
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  NodeSource source;
  source.where = name;
  auto types = infer_node(graph, *node.op, node.inputs, node.attrs, node.outputs.size(), source, diags);
  COLLAGE_CHECK(types.has_value(), "`{}` is ill-typed: {}", name, diags.render());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].is_valid()) continue;
    const TensorType& type = graph.value(node.outputs[i]).type;
    COLLAGE_CHECK(type == (*types)[i], "result {} of `{}` is {}, inferred is {}", i, name, to_string(type),
                  to_string((*types)[i]));
  }
}

}  // namespace

void verify(const Graph& graph) {
  verify_values(graph);
  std::map<ValueId, size_t> uses;
  for (NodeId id : graph.node_ids()) verify_node(graph, id, uses);
  for (ValueId id : graph.value_ids()) {
    const Value& value = graph.value(id);
    for (const Use& use : value.uses) {
      const bool is_read = use.node.slot() < graph.node_count() && use.operand >= 0 &&
                           static_cast<size_t>(use.operand) < graph.node(use.node).inputs.size() &&
                           graph.node(use.node).inputs[static_cast<size_t>(use.operand)] == id;
      COLLAGE_CHECK(is_read, "`{}` lists a use that does not read it", value.name);
    }
    COLLAGE_CHECK(value.uses.size() == uses[id], "`{}` lists {} uses and has {}", value.name, value.uses.size(),
                  uses[id]);
  }
}

}  // namespace collage::ir
