// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/window_layout.h"

#include <algorithm>

#include "runtime/core/layout.h"

namespace collage::codegen {

bool has_channels_last(const ir::Node& node, const char* attribute) {
  return node.attrs.get_string(attribute, "") == runtime::kChannelsLast;
}

bool has_constant_parameters(const ir::Graph& graph, ir::NodeId id) {
  const std::vector<ir::ValueId>& operands = graph.node(id).inputs;
  return std::all_of(operands.begin(), operands.end(), [&](ir::ValueId operand) {
    if (!operand.is_valid()) return true;
    const ir::Value& value = graph.value(operand);
    return value.type.dtype == ir::DType::F32 && (operand == operands[0] || value.is_constant());
  });
}

ir::Shape channels_first(const ir::Shape& shape) {
  ir::Shape logical = {shape.front(), shape.back()};
  logical.insert(logical.end(), shape.begin() + 1, shape.end() - 1);
  return logical;
}

}  // namespace collage::codegen
