// SPDX-License-Identifier: Apache-2.0
#include "tests/accuracy/widened.h"

#include <algorithm>
#include <map>

#include "compiler/ir/infer.h"
#include "compiler/ir/op_def.h"

namespace collage::testing {

using ir::DType;
using runtime::Tensor;

Tensor widened(const Tensor& tensor) {
  if (tensor.dtype() != DType::F32) return tensor;
  Tensor wide(DType::F64, tensor.shape());
  std::copy(tensor.as<float>().begin(), tensor.as<float>().end(), wide.as<double>().begin());
  return wide;
}

std::optional<ir::Graph> widened(const ir::Graph& graph) {
  ir::Graph wide;
  std::map<ir::ValueId, ir::ValueId> map;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) {
      const bool is_scale = std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
        return graph.node(use.node).op->name == "Resize" && use.operand > 0;
      });
      ir::Constant constant;
      constant.data = is_scale ? value.constant->data : widened(value.constant->data);
      map[id] = wide.add_constant(value.name, constant);
    } else if (value.is_input) {
      map[id] = wide.add_input(value.name, {DType::F64, value.type.shape});
    }
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "f64";
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::ValueId> inputs;
    for (ir::ValueId input : node.inputs) inputs.push_back(input.is_valid() ? map.at(input) : ir::ValueId());
    std::vector<std::string> names;
    for (ir::ValueId output : node.outputs) names.push_back(output.is_valid() ? graph.value(output).name : "");
    const ir::NodeId made = ir::append_inferred(wide, *node.op, inputs, node.attrs, names, source, diags);
    if (!made.is_valid()) return std::nullopt;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) map[node.outputs[i]] = wide.node(made).outputs[i];
    }
  }
  for (ir::ValueId output : graph.outputs()) wide.mark_output(map.at(output));
  return wide;
}

}  // namespace collage::testing
