// SPDX-License-Identifier: Apache-2.0
// See search_order.h. Iterative: a chain of a hundred thousand nodes must not exhaust the stack.
#include "compiler/place/exact/search_order.h"

#include <algorithm>

namespace collage::place {

Table<Position, NodeId> search_order(const NodeGraph& graph) {
  Table<NodeId, int> depth(graph.size(), 0);
  for (NodeId node : depth.ids()) {
    for (NodeId next : graph.successors[node]) depth[next] = std::max(depth[next], depth[node] + 1);
  }
  const auto deepest_first = [&](std::vector<NodeId> nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return depth[a] > depth[b]; });
    return nodes;
  };

  struct Visit {
    NodeId node;
    std::vector<NodeId> operands;
    size_t next = 0;
  };
  Table<Position, NodeId> order;
  Table<NodeId, char> seen(graph.size(), 0);
  std::vector<Visit> stack;
  const auto enter = [&](NodeId node) {
    if (seen[node] != 0) return;
    seen[node] = 1;
    stack.push_back({node, deepest_first(graph.predecessors[node])});
  };
  std::vector<NodeId> sinks;
  for (NodeId node : graph.successors.ids()) {
    if (graph.successors[node].empty()) sinks.push_back(node);
  }
  for (NodeId sink : deepest_first(sinks)) {
    enter(sink);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.operands.size()) {
        enter(top.operands[top.next++]);
      } else {
        order.push_back(top.node);
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace collage::place
