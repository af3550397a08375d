// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/measure_conversions.h"

#include <map>
#include <tuple>

#include "compiler/ir/analysis/layout_change.h"
#include "runtime/core/host_space.h"

namespace collage::place {

HostChanges host_changes(const ir::Graph& graph, const BuiltProblem& built) {
  using Change = std::tuple<ir::DType, ir::Shape, std::string, std::string>;
  std::map<Change, std::vector<HostChanges::Edge>> changes;
  for (ProblemValueId v : built.values.ids()) {
    const ir::TensorType& type = graph.value(built.values[v]).type;
    const std::vector<ConversionEdge>& edges = built.problem.values[v].conversions;
    for (size_t e = 0; e < edges.size(); ++e) {
      const ir::Format& from = built.problem.formats[edges[e].from];
      const ir::Format& to = built.problem.formats[edges[e].to];
      if (from.space != to.space || !runtime::is_host_space(from.space) || from.storage || to.storage) continue;
      changes[{type.dtype, type.shape, from.layout, to.layout}].push_back({v, e});
    }
  }
  HostChanges result;
  for (auto& [change, edges] : changes) {
    const auto& [dtype, shape, from, to] = change;
    ir::NodeId node = ir::append_layout_change(result.kernels, {dtype, shape}, from, to);
    result.kernels.mark_output(result.kernels.first_output(node));
    ir::Partition partition;
    partition.name = "p0";
    partition.backend = partition.instance = "host";
    partition.nodes = {node};
    partition.inputs = {{result.kernels.node(node).inputs[0], ir::kHostPlain}};
    partition.outputs = {{result.kernels.first_output(node), ir::kHostPlain}};
    result.partitions.push_back(std::move(partition));
    result.edges.push_back(std::move(edges));
  }
  return result;
}

void measure_conversions(ProblemBuilder& builder) {
  const HostChanges changes = host_changes(builder.graph, builder.built);
  const std::vector<MeasuredCost> answers = builder.options.costs->measure(changes.kernels, changes.partitions);
  for (size_t c = 0; c < answers.size(); ++c) {
    if (!answers[c].cost) continue;
    for (const auto& [value, edge] : changes.edges[c]) {
      builder.built.problem.values[value].conversions[edge].cost = Cost::time(*answers[c].cost);
    }
  }
}

}  // namespace collage::place
