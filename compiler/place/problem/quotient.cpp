// SPDX-License-Identifier: Apache-2.0
// See quotient.h.
#include "compiler/place/problem/quotient.h"

#include <algorithm>

namespace collage::place {

NodeGraph node_graph(const Problem& problem) {
  NodeGraph graph;
  graph.successors.resize(problem.node_count);
  graph.predecessors.resize(problem.node_count);
  for (const ProblemValue& value : problem.values) {
    if (!value.writer.is_valid()) continue;
    for (NodeId reader : value.readers) {
      graph.successors[value.writer].push_back(reader);
      graph.predecessors[reader].push_back(value.writer);
    }
  }
  for (auto* lists : {&graph.successors, &graph.predecessors}) {
    for (std::vector<NodeId>& list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return graph;
}

template <typename Node>
Reachability<Node>::Reachability(const Neighbours<Node>& graph) {
  const size_t count = graph.size();
  words_ = (count + 63) / 64;
  rows_.resize(count * words_);
  for (size_t node = count; node-- > 0;) {
    uint64_t* row = &rows_[node * words_];
    row[node / 64] |= uint64_t{1} << (node % 64);
    for (Node next : graph.successors[Node(node)]) {
      const uint64_t* other = &rows_[next.slot() * words_];
      for (size_t word = node / 64; word < words_; ++word) row[word] |= other[word];
    }
  }
}

template <typename Node>
bool Reachability<Node>::reaches(const std::vector<Node>& from, const std::vector<Node>& to) const {
  for (Node a : from) {
    // Nodes are numbered topologically, so none reaches a smaller one.
    for (auto b = to.rbegin(); b != to.rend() && *b >= a; ++b) {
      if (reaches(a, *b)) return true;
    }
  }
  return false;
}

template <typename Node>
bool is_convex(const Neighbours<Node>& graph, const Reachability<Node>& reach, const std::vector<Node>& nodes) {
  for (Node node : nodes) {
    for (Node next : graph.successors[node]) {
      if (!std::binary_search(nodes.begin(), nodes.end(), next) && reach.reaches(std::vector<Node>{next}, nodes)) {
        return false;
      }
    }
  }
  return true;
}

template <typename Node>
bool is_transparent(const Neighbours<Node>& graph, const Reachability<Node>& reach, const std::vector<Node>& nodes) {
  const auto leaves = [&](const std::vector<Node>& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](Node other) { return !std::binary_search(nodes.begin(), nodes.end(), other); });
  };
  for (Node entry : nodes) {
    if (!leaves(graph.predecessors[entry])) continue;
    for (Node exit : nodes) {
      if (!reach.reaches(entry, exit) && leaves(graph.successors[exit])) return false;
    }
  }
  return true;
}

template <typename Node>
bool stays_acyclic(const Reachability<Node>& reach, const std::vector<const std::vector<Node>*>& sets,
                   const std::vector<Node>& added) {
  // A cycle runs through `added` and some of `sets`; between them it follows paths of the graph.
  std::vector<bool> seen(sets.size(), false);
  std::vector<const std::vector<Node>*> todo = {&added};
  while (!todo.empty()) {
    const std::vector<Node>& from = *todo.back();
    todo.pop_back();
    for (size_t i = 0; i < sets.size(); ++i) {
      if (seen[i] || !reach.reaches(from, *sets[i])) continue;
      if (reach.reaches(*sets[i], added)) return false;
      seen[i] = true;
      todo.push_back(sets[i]);
    }
  }
  return true;
}

#define COLLAGE_FOR_NODES_OF(Node)                                                                            \
  template class Reachability<Node>;                                                                          \
  template bool is_convex(const Neighbours<Node>&, const Reachability<Node>&, const std::vector<Node>&);      \
  template bool is_transparent(const Neighbours<Node>&, const Reachability<Node>&, const std::vector<Node>&); \
  template bool stays_acyclic(const Reachability<Node>&, const std::vector<const std::vector<Node>*>&,        \
                              const std::vector<Node>&);
COLLAGE_FOR_NODES_OF(NodeId)
COLLAGE_FOR_NODES_OF(Position)
#undef COLLAGE_FOR_NODES_OF

}  // namespace collage::place
