// SPDX-License-Identifier: Apache-2.0
// The limits of `partition { … }` on one set of nodes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ir/ops/op_def.h"
#include "compiler/place/candidates/enumerate.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

}  // namespace

int depth_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<int> depth(nodes.size(), 1);
  int deepest = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId input : graph.node(nodes[i]).inputs) {
      NodeId producer = input.is_valid() ? graph.value(input).producer : NodeId();
      if (!producer.is_valid()) continue;
      auto at = std::lower_bound(nodes.begin(), nodes.end(), producer);
      if (at == nodes.end() || *at != producer) continue;
      depth[i] = std::max(depth[i], depth.begin()[at - nodes.begin()] + 1);
    }
    deepest = std::max(deepest, depth[i]);
  }
  return deepest;
}

bool is_connected(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<NodeId> left(nodes.begin(), nodes.end());
  std::vector<NodeId> todo;
  const auto visit = [&](NodeId node) {
    if (left.erase(node) > 0) todo.push_back(node);
  };
  if (!nodes.empty()) visit(nodes.front());
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    for (ValueId input : graph.node(node).inputs) {
      if (input.is_valid() && graph.value(input).producer.is_valid()) visit(graph.value(input).producer);
    }
    for (ValueId output : graph.node(node).outputs) {
      if (!output.is_valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) visit(use.node);
    }
  }
  return left.empty();
}

bool is_convex(const Graph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return true;
  // Ids are a topological order, so only nodes between the first and the last can lie on such a path.
  std::set<NodeId> outside_after;
  for (NodeId node : support::IdRange<NodeId>(nodes.front(), support::advance(nodes.back(), 1))) {
    bool is_inside = contains(nodes, node);
    for (ValueId input : graph.node(node).inputs) {
      NodeId producer = input.is_valid() ? graph.value(input).producer : NodeId();
      if (!producer.is_valid()) continue;
      bool from_outside_after = outside_after.count(producer) > 0;
      if (is_inside && from_outside_after) return false;
      if (!is_inside && (from_outside_after || contains(nodes, producer))) outside_after.insert(node);
    }
  }
  return true;
}

std::string limit_violation(const Graph& graph, const ir::PartitionPolicy& policy, const std::vector<NodeId>& nodes,
                            bool checks_paths) {
  if (policy.max_ops > 0 && std::cmp_greater(nodes.size(), policy.max_ops)) {
    return fmt::format("{} operators, limit {}", nodes.size(), policy.max_ops);
  }
  if (policy.max_depth > 0) {
    int depth = depth_of(graph, nodes);
    if (depth > policy.max_depth) return fmt::format("depth {}, limit {}", depth, policy.max_depth);
  }
  std::vector<ValueId> results = ir::boundary_outputs(graph, nodes);
  if (policy.max_exits > 0) {
    std::set<NodeId> exits;
    for (ValueId result : results) exits.insert(graph.value(result).producer);
    if (std::cmp_greater(exits.size(), policy.max_exits)) {
      return fmt::format("{} exits, limit {}", exits.size(), policy.max_exits);
    }
  }
  if (!policy.taps) {
    for (ValueId result : results) {
      const auto& uses = graph.value(result).uses;
      bool is_tap =
          std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return contains(nodes, use.node); });
      if (is_tap) return fmt::format("`%{}` is read inside and outside", graph.value(result).name);
    }
  }
  for (NodeId node : nodes) {
    const ir::OpDef* op = graph.node(node).op;
    if (std::find(policy.never_starts.begin(), policy.never_starts.end(), op) == policy.never_starts.end()) continue;
    for (ValueId input : graph.node(node).inputs) {
      if (!input.is_valid() || graph.value(input).is_constant()) continue;
      NodeId producer = graph.value(input).producer;
      if (!producer.is_valid() || !contains(nodes, producer)) return fmt::format("it would start with {}", op->name);
    }
  }
  if (checks_paths && !is_convex(graph, nodes)) return "a path leaves it and comes back";
  return "";
}

}  // namespace collage::place
