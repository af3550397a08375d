// SPDX-License-Identifier: Apache-2.0
// What passes ask of a node's operands.
#pragma once

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// False for an operand that is left out.
inline bool has_operand(const Node& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i].is_valid();
}

/// The elements of a constant operand; null for other operands and for one that is left out.
inline const Tensor* constant_operand(const Graph& graph, const Node& node, size_t i) {
  if (!has_operand(node, i)) return nullptr;
  const Value& value = graph.value(node.inputs[i]);
  return value.is_constant() ? &value.constant->data : nullptr;
}

/// The same, null also where they are not f32.
inline const Tensor* constant_f32_operand(const Graph& graph, const Node& node, size_t i) {
  const Tensor* constant = constant_operand(graph, node, i);
  return constant != nullptr && constant->dtype() == DType::F32 ? constant : nullptr;
}

}  // namespace collage::ir
