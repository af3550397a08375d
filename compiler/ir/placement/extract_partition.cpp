// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/placement/extract_partition.h"

#include "compiler/ir/graph/subgraph.h"

namespace collage::ir {
namespace {

void convert(const Graph& graph, ValueId value, const Format& from, const Format& to, Placement* placement) {
  if (from == to) return;
  placement->conversions.push_back({value, from, to, {}, graph.value(value).name + ".converted", {}});
}

}  // namespace

PlacedGraph extract_partition(const Graph& graph, const Partition& partition, const Extraction& how) {
  SubgraphOptions options{{}, how.name, how.constant};
  for (const BoundaryValue& input : partition.inputs) options.inputs.push_back(input.value);
  Subgraph copied = make_subgraph(graph, partition.nodes, options);
  PlacedGraph result{std::move(copied.graph), {}};
  result.graph.name = how.model_name;
  Partition made;
  made.name = "p0";
  made.backend = partition.backend;
  made.instance = partition.instance;
  for (const std::string& rule : rule_names(partition)) made.matches.push_back({rule});
  made.nodes = result.graph.node_ids();
  for (const BoundaryValue& input : partition.inputs) {
    const ValueId value = copied.copies.at(input.value);
    made.inputs.push_back({value, input.format});
    convert(result.graph, value, kHostPlain, input.format, &result.placement);
  }
  for (const BoundaryValue& output : partition.outputs) {
    const ValueId value = copied.copies.at(output.value);
    made.outputs.push_back({value, output.format});
    result.graph.mark_output(value);
    convert(result.graph, value, output.format, kHostPlain, &result.placement);
  }
  if (partition.outputs.empty()) {  // its results have no reader, but a model needs an output
    const ValueId last = result.graph.first_output(made.nodes.back());
    result.graph.mark_output(last);
    made.outputs.push_back({last, kHostPlain});
  }
  result.placement.partitions.push_back(std::move(made));
  return result;
}

}  // namespace collage::ir
