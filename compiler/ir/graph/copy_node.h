// SPDX-License-Identifier: Apache-2.0
// Copies a node of one graph into another. Callers say what stands for its operands there and how its results are
// named.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// Copies operator, attributes, types, spans and origin; a pin is for the caller, as it has a meaning for whole models
/// only.
///
///     operand(old)      the value of `to` for an operand that is there; called in their order
///     name(old)         the name of a result that is there
///     made(old, copy)   gets each result and its copy
template <typename Operand, typename Name, typename Made>
NodeId copy_node(const Graph& from, NodeId id, Graph& to, const Operand& operand, const Name& name, const Made& made) {
  const Node& node = from.node(id);
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) inputs.push_back(input.is_valid() ? operand(input) : ValueId());
  std::vector<std::string> names;
  std::vector<TensorType> types;
  for (ValueId output : node.outputs) {
    names.push_back(output.is_valid() ? std::string(name(output)) : std::string());
    types.push_back(output.is_valid() ? from.value(output).type : TensorType{});
  }
  const NodeId copy =
      to.add_node(*node.op, std::move(inputs), node.attrs, std::move(names), std::move(types), node.span);
  to.node(copy).origin = node.origin;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].is_valid()) continue;
    const ValueId result = to.node(copy).outputs[i];
    to.value(result).span = from.value(node.outputs[i]).span;
    made(node.outputs[i], result);
  }
  return copy;
}

}  // namespace collage::ir
