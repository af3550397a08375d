// SPDX-License-Identifier: Apache-2.0
// See search_order.h. Iterative: a chain of a hundred thousand nodes must not exhaust the stack.
#include "compiler/place/exact/search_order.h"

#include <algorithm>

namespace collage::place {

std::vector<int> search_order(const NodeGraph& graph) {
  const size_t count = graph.successors.size();
  std::vector<int> depth(count, 0);
  for (size_t node = 0; node < count; ++node) {
    for (int next : graph.successors[node]) {
      depth[static_cast<size_t>(next)] = std::max(depth[static_cast<size_t>(next)], depth[node] + 1);
    }
  }
  const auto deepest_first = [&](std::vector<int> nodes) {
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](int a, int b) { return depth[static_cast<size_t>(a)] > depth[static_cast<size_t>(b)]; });
    return nodes;
  };

  struct Visit {
    int node;
    std::vector<int> operands;
    size_t next = 0;
  };
  std::vector<int> order;
  std::vector<bool> seen(count, false);
  std::vector<Visit> stack;
  const auto enter = [&](int node) {
    if (seen[static_cast<size_t>(node)]) return;
    seen[static_cast<size_t>(node)] = true;
    stack.push_back({node, deepest_first(graph.predecessors[static_cast<size_t>(node)])});
  };
  std::vector<int> sinks;
  for (size_t node = 0; node < count; ++node) {
    if (graph.successors[node].empty()) sinks.push_back(static_cast<int>(node));
  }
  for (int sink : deepest_first(sinks)) {
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
