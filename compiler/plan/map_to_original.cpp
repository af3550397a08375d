// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/map_to_original.h"

#include <algorithm>

namespace collage::plan {
namespace {

/// Values introduced by a rewrite are reported by name only. `rewritten` has a graph, and the original of each value.
template <typename Rewritten>
void map_to_original(const Rewritten& rewritten, LoweringRequest* request) {
  request->nodes.clear();
  for (RequestArg& arg : request->args) {
    if (!arg.value.is_valid()) continue;
    ir::ValueId before = rewritten.old_values[arg.value.slot()];
    if (!before.is_valid()) arg.attr = "%" + rewritten.graph.value(arg.value).name;
    arg.value = before;
  }
  for (ir::ValueId& result : request->results) result = rewritten.old_values[result.slot()];
  std::erase_if(request->results, [](ir::ValueId result) { return !result.is_valid(); });
}

}  // namespace

void map_to_original(const ir::Graph& graph, const ir::Placement& placement, const RewrittenModel& rewritten,
                     BuiltPlan* built) {
  for (size_t i = 0; i < placement.partitions.size(); ++i) {
    std::vector<std::string>& nodes = built->plan.partitions[i].nodes;
    nodes.clear();
    for (ir::NodeId node : placement.partitions[i].nodes) nodes.push_back(graph.node_name(node));
    for (auto& [value, buffer] : built->results[i].values) value = rewritten.old_values[value.slot()];
    for (auto& [value, buffer] : built->results[i].rounded_operands) value = rewritten.old_values[value.slot()];
    for (LoweringRequest& request : built->lowerings[i]) map_to_original(rewritten, &request);
  }
}

void map_to_original(const ir::Graph& graph, const ir::Placement& placement, const ExpandedSplits& splits,
                     BuiltPlan* built) {
  const size_t count = placement.partitions.size();
  for (std::vector<LoweringRequest>& requests : built->lowerings) {
    for (LoweringRequest& request : requests) map_to_original(splits, &request);
  }
  for (size_t i = count; i < built->lowerings.size(); ++i) {
    std::vector<LoweringRequest>& all = built->lowerings[splits.origins[i]];
    std::move(built->lowerings[i].begin(), built->lowerings[i].end(), std::back_inserter(all));
  }
  built->lowerings.resize(count);
  built->results.resize(count);
  for (PartitionResults& results : built->results) {
    for (auto& [value, buffer] : results.values) value = splits.old_values[value.slot()];
  }
  for (Fallback& fallback : built->fallbacks) fallback.partition = splits.origins[fallback.partition];
  runtime::Duration in_turn;
  for (const ir::Conversion& conversion : placement.conversions) in_turn += conversion.cost;
  for (size_t i = 0; i < count; ++i) {
    const ir::Partition& partition = placement.partitions[i];
    in_turn += partition.cost;
    if (!partition.split) continue;
    runtime::PlanPartition& mapped = built->plan.partitions[i];
    mapped.backend = partition.backend;
    mapped.instance = partition.instance;
    mapped.nodes.clear();
    for (ir::NodeId node : partition.nodes) mapped.nodes.push_back(graph.node_name(node));
  }
  if (!built->plan.is_concurrent) built->plan.predicted = in_turn;
}

}  // namespace collage::plan
