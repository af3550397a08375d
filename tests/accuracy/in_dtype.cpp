// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/in_dtype.h"

#include <algorithm>
#include <map>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"

namespace collage::testing {

using ir::DType;
using runtime::Tensor;

Tensor in_dtype(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() != DType::F32 || dtype == DType::F32) return tensor;
  Tensor made(dtype, tensor.shape());
  const auto from = tensor.as<float>();
  for (size_t i = 0; i < from.size(); ++i) runtime::set_element(made.view(), static_cast<int64_t>(i), from[i]);
  return made;
}

std::optional<ir::Graph> in_dtype(const ir::Graph& graph, DType dtype) {
  ir::Graph made;
  std::map<ir::ValueId, ir::ValueId> map;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) {
      const bool is_scale = std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
        return graph.node(use.node).op->name == "Resize" && use.operand > 0;
      });
      ir::Constant constant;
      constant.data = is_scale ? value.constant->data : in_dtype(value.constant->data, dtype);
      map[id] = made.add_constant(value.name, constant);
    } else if (value.is_input) {
      map[id] =
          made.add_input(value.name, {value.type.dtype == DType::F32 ? dtype : value.type.dtype, value.type.shape});
    }
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "in another dtype";
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::ValueId> inputs;
    for (ir::ValueId input : node.inputs) inputs.push_back(input.is_valid() ? map.at(input) : ir::ValueId());
    std::vector<std::string> names;
    for (ir::ValueId output : node.outputs) names.push_back(output.is_valid() ? graph.value(output).name : "");
    const ir::NodeId copy = ir::append_inferred(made, *node.op, inputs, node.attrs, names, source, diags);
    if (!copy.is_valid()) return std::nullopt;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) map[node.outputs[i]] = made.node(copy).outputs[i];
    }
  }
  for (ir::ValueId output : graph.outputs()) made.mark_output(map.at(output));
  return made;
}

}  // namespace collage::testing
