// SPDX-License-Identifier: Apache-2.0
// Changes of layout in host memory are kernels like any other: what they take is measured, each distinct one once, all
// in one batch. One that cannot be measured keeps its estimate, and so does one of elements that no kernel reads as
// they lie (casts, and reorders of f16).
#include <map>
#include <tuple>

#include "compiler/ir/layout_change.h"
#include "compiler/place/build_problem_fixed.h"

namespace collage::place {

void measure_conversions(const ir::Graph& graph, CostSource& costs, BuiltProblem* built) {
  using Change = std::tuple<ir::DType, ir::Shape, std::string, std::string>;
  std::map<Change, std::vector<ConversionEdge*>> changes;
  for (size_t v = 0; v < built->values.size(); ++v) {
    const ir::TensorType& type = graph.value(built->values[v]).type;
    for (ConversionEdge& edge : built->problem.values[v].conversions) {
      const ir::Format& from = built->problem.formats[static_cast<size_t>(edge.from)];
      const ir::Format& to = built->problem.formats[static_cast<size_t>(edge.to)];
      if (from.space != "host" || to.space != "host" || from.storage || to.storage) continue;
      changes[{type.dtype, type.shape, from.layout, to.layout}].push_back(&edge);
    }
  }
  ir::Graph kernels;
  std::vector<ir::Partition> partitions;
  for (const auto& [change, edges] : changes) {
    const auto& [dtype, shape, from, to] = change;
    ir::NodeId node = ir::append_layout_change(kernels, {dtype, shape}, from, to);
    kernels.mark_output(kernels.first_output(node));
    ir::Partition partition;
    partition.name = "p0";
    partition.backend = partition.instance = "host";
    partition.nodes = {node};
    partition.inputs = {{kernels.node(node).inputs[0], ir::kHostPlain}};
    partition.outputs = {{kernels.first_output(node), ir::kHostPlain}};
    partitions.push_back(std::move(partition));
  }
  std::vector<MeasuredCost> answers = costs.measure(kernels, partitions);
  size_t at = 0;
  for (auto& [change, edges] : changes) {
    const MeasuredCost& answer = answers[at++];
    if (!answer.cost) continue;
    for (ConversionEdge* edge : edges) edge->cost = *answer.cost;
  }
}

}  // namespace collage::place
