// SPDX-License-Identifier: Apache-2.0
// See quotient.h.
#include "compiler/place/problem/quotient.h"

#include <algorithm>

namespace collage::place {

NodeGraph node_graph(const Problem& problem) {
  NodeGraph graph;
  graph.successors.resize(static_cast<size_t>(problem.node_count));
  graph.predecessors.resize(static_cast<size_t>(problem.node_count));
  for (const ProblemValue& value : problem.values) {
    if (value.writer < 0) continue;
    for (int reader : value.readers) {
      graph.successors[static_cast<size_t>(value.writer)].push_back(reader);
      graph.predecessors[static_cast<size_t>(reader)].push_back(value.writer);
    }
  }
  for (auto* lists : {&graph.successors, &graph.predecessors}) {
    for (std::vector<int>& list : *lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  return graph;
}

Reachability::Reachability(const NodeGraph& graph) {
  const size_t count = graph.successors.size();
  words_ = (count + 63) / 64;
  rows_.resize(count * words_);
  for (size_t node = count; node-- > 0;) {
    uint64_t* row = &rows_[node * words_];
    row[node / 64] |= uint64_t{1} << (node % 64);
    for (int next : graph.successors[node]) {
      const uint64_t* other = &rows_[static_cast<size_t>(next) * words_];
      for (size_t word = node / 64; word < words_; ++word) row[word] |= other[word];
    }
  }
}

bool Reachability::reaches(const std::vector<int>& from, const std::vector<int>& to) const {
  for (int a : from) {
    // Nodes are numbered topologically, so none reaches a smaller one.
    for (auto b = to.rbegin(); b != to.rend() && *b >= a; ++b) {
      if (reaches(a, *b)) return true;
    }
  }
  return false;
}

bool is_convex(const NodeGraph& graph, const Reachability& reach, const std::vector<int>& nodes) {
  for (int node : nodes) {
    for (int next : graph.successors[static_cast<size_t>(node)]) {
      if (!std::binary_search(nodes.begin(), nodes.end(), next) && reach.reaches(std::vector<int>{next}, nodes)) {
        return false;
      }
    }
  }
  return true;
}

bool is_transparent(const NodeGraph& graph, const Reachability& reach, const std::vector<int>& nodes) {
  const auto leaves = [&](const std::vector<int>& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](int other) { return !std::binary_search(nodes.begin(), nodes.end(), other); });
  };
  for (int entry : nodes) {
    if (!leaves(graph.predecessors[static_cast<size_t>(entry)])) continue;
    for (int exit : nodes) {
      if (!reach.reaches(entry, exit) && leaves(graph.successors[static_cast<size_t>(exit)])) return false;
    }
  }
  return true;
}

bool stays_acyclic(const Reachability& reach, const std::vector<const std::vector<int>*>& sets,
                   const std::vector<int>& added) {
  // A cycle runs through `added` and some of `sets`; between them it follows paths of the graph.
  std::vector<bool> seen(sets.size(), false);
  std::vector<const std::vector<int>*> todo = {&added};
  while (!todo.empty()) {
    const std::vector<int>& from = *todo.back();
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

}  // namespace collage::place
