// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/analysis/evaluate_nodes.h"

#include <optional>

#include "compiler/ir/analysis/evaluate.h"

namespace collage::ir {

using runtime::Result;

Result<std::vector<Tensor>> evaluate_nodes(const Graph& graph, const std::vector<NodeId>& nodes,
                                           const std::function<Tensor(ValueId)>& read,
                                           const std::function<void(ValueId, Tensor&)>& made) {
  std::vector<Tensor> tensors(graph.value_count());
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    std::vector<Tensor> operands;
    for (ValueId input : node.inputs) {
      if (!input.is_valid()) {
        operands.emplace_back();
      } else {
        const Tensor& own = tensors[input.slot()];
        operands.push_back(own.is_empty_handle() ? read(input) : own);
        if (operands.back().is_empty_handle()) {
          return runtime::Status::error("`%" + graph.value(input).name + "` has no value yet");
        }
      }
    }
    std::vector<std::optional<TensorType>> types;
    for (ValueId output : node.outputs) {
      types.push_back(output.is_valid() ? std::optional(graph.value(output).type) : std::nullopt);
    }
    Result<std::vector<Tensor>> results = evaluate_node(*node.op, operands, node.attrs, types);
    if (!results) return results.status();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].is_valid()) continue;
      Tensor& result = tensors[node.outputs[i].slot()];
      result = (*results)[i];
      if (made) made(node.outputs[i], result);
    }
  }
  return tensors;
}

}  // namespace collage::ir
