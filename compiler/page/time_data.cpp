// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/time_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/report/work_shares.h"

namespace collage::page {
namespace {

using ir::NodeId;
using ir::ValueId;
using nlohmann::ordered_json;

ordered_json kernel_data(size_t partition, const report::ProfileRow& row, const std::vector<NodeId>& nodes) {
  ordered_json json = {
      {"partition", partition}, {"nodes", ordered_json::array()}, {"text", row.what}, {"seconds", row.seconds}};
  for (NodeId node : nodes) json["nodes"].push_back(node.index);
  if (row.is_about) json["about"] = true;
  if (row.is_simulated) json["simulated"] = true;
  return json;
}

}  // namespace

ordered_json predicted_times(const ir::Graph& graph, const ir::Partition& partition,
                             const std::vector<TimedNodes>& units) {
  const double cost = partition.cost.seconds();
  double sum = 0;
  for (const TimedNodes& unit : units) sum += unit.seconds;
  const bool adds_up = std::abs(sum - cost) <= 1e-9 * cost;
  std::map<NodeId, double> seconds;
  std::set<NodeId> exact;
  const auto divide = [&](const std::vector<NodeId>& nodes, double whole) {
    const std::vector<double> shares = report::work_shares(graph, nodes);
    for (size_t i = 0; i < nodes.size(); ++i) seconds[nodes[i]] = whole * shares[i];
  };
  if (sum > 0) {
    for (const TimedNodes& unit : units) {
      divide(unit.nodes, unit.seconds * cost / sum);
      if (adds_up && unit.nodes.size() == 1) exact.insert(unit.nodes[0]);
    }
  } else {
    divide(partition.nodes, cost);
    if (partition.nodes.size() == 1) exact.insert(partition.nodes[0]);
  }
  ordered_json json = {{"node_s", ordered_json::array()}, {"exact", ordered_json::array()}};
  for (size_t i = 0; i < partition.nodes.size(); ++i) {
    const NodeId node = partition.nodes[i];
    const auto at = seconds.find(node);
    json["node_s"].push_back(at == seconds.end() ? 0 : at->second);
    if (exact.contains(node)) json["exact"].push_back(i);
  }
  return json;
}

std::vector<std::vector<NodeId>> nodes_of_kernels(const ir::Graph& graph, const std::vector<NodeId>& nodes,
                                                  const std::vector<ValueId>& results) {
  constexpr int kNone = -1;
  std::map<NodeId, int> kernel_of;  // the first of the kernels that leave its result
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].is_valid()) continue;
    const NodeId node = graph.value(results[k]).producer;
    if (node.is_valid()) kernel_of.try_emplace(node, static_cast<int>(k));
  }
  std::map<NodeId, int> owner;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const auto at = kernel_of.find(*node);
    int kernel = at == kernel_of.end() ? kNone : at->second;
    for (ValueId output : graph.node(*node).outputs) {
      if (!output.is_valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (const auto reader = owner.find(use.node); kernel == kNone && reader != owner.end()) kernel = reader->second;
      }
    }
    owner[*node] = kernel;
  }
  for (NodeId node : nodes) {
    for (ValueId operand : graph.node(node).inputs) {
      if (!operand.is_valid() || owner[node] != kNone) continue;
      const auto maker = owner.find(graph.value(operand).producer);
      if (maker != owner.end()) owner[node] = maker->second;
    }
  }
  std::vector<std::vector<NodeId>> all(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].is_valid() || !graph.value(results[k]).producer.is_valid()) continue;
    const int first = kernel_of[graph.value(results[k]).producer];  // several kernels may make one result
    for (NodeId node : nodes) {
      if (owner[node] == first) all[k].push_back(node);
    }
  }
  return all;
}

ordered_json profile_data(const ir::Graph& graph, const ir::Placement& placement, const report::Profile& profile) {
  ordered_json json = {{"runs", profile.runs},
                       {"seconds", profile.seconds},
                       {"kernels", ordered_json::array()},
                       {"moves", ordered_json::array()}};
  std::map<std::string, std::vector<const report::ProfileRow*>> by_partition;
  for (const report::ProfileRow& row : profile.rows) {
    if (!row.partition.empty()) {
      by_partition[row.partition].push_back(&row);
      continue;
    }
    json["moves"].push_back({{"value", row.value}, {"seconds", row.seconds}});
    if (row.is_simulated) json["moves"].back()["simulated"] = true;
  }
  for (size_t p = 0; p < placement.partitions.size(); ++p) {
    const ir::Partition& partition = placement.partitions[p];
    const std::vector<const report::ProfileRow*>& rows = by_partition[partition.name];
    if (rows.size() == 1 && rows[0]->value.empty()) {  // the partition as a whole
      json["kernels"].push_back(kernel_data(p, *rows[0], partition.nodes));
      continue;
    }
    std::vector<ValueId> results;
    for (const report::ProfileRow* row : rows)
      results.push_back(row->value.empty() ? ValueId() : graph.find_value(row->value));
    const bool is_divided = !rows.empty() && rows[0]->is_about;  // a row for each node that takes time
    const auto nodes =
        is_divided ? std::vector<std::vector<NodeId>>() : nodes_of_kernels(graph, partition.nodes, results);
    for (size_t r = 0; r < rows.size(); ++r) {
      const bool has_node = results[r].is_valid() && graph.value(results[r]).producer.is_valid();
      const std::vector<NodeId> own = has_node ? std::vector{graph.value(results[r]).producer} : std::vector<NodeId>();
      json["kernels"].push_back(kernel_data(p, *rows[r], is_divided ? own : nodes[r]));
    }
  }
  return json;
}

}  // namespace collage::page
