// SPDX-License-Identifier: Apache-2.0
// Small placement problems written by hand: one input value read by the nodes without operands, one result per node.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

class Sketch {
 public:
  /// Edges from smaller to larger nodes. Results that nobody reads are model outputs.
  Sketch(int node_count, const std::vector<std::pair<int, int>>& edges) {
    problem.node_count = node_count;
    problem.formats = {{"host", "plain"}};
    problem.owners = {{"host", "host", {}, {}}};
    problem.values.resize(static_cast<size_t>(node_count) + 1);
    for (int node = 0; node < node_count; ++node) result_of(node).writer = node;
    std::set<int> fed;
    for (const auto& [from, to] : edges) {
      result_of(from).readers.push_back(to);
      fed.insert(to);
    }
    for (int node = 0; node < node_count; ++node) {
      std::sort(result_of(node).readers.begin(), result_of(node).readers.end());
      result_of(node).is_output = result_of(node).readers.empty();
      if (!fed.contains(node)) problem.values[0].readers.push_back(node);
    }
  }

  ProblemValue& result_of(int node) { return problem.values[static_cast<size_t>(node) + 1]; }

  int add_owner(const std::string& backend, const std::string& instance) {
    problem.owners.push_back({backend, instance, {}, {}});
    return static_cast<int>(problem.owners.size()) - 1;
  }
  FormatId add_format(const std::string& space, const std::string& layout = "plain") {
    problem.formats.push_back({space, layout});
    return static_cast<FormatId>(problem.formats.size()) - 1;
  }
  /// For every value alike.
  void convert(FormatId from, FormatId to, int cost) {
    for (ProblemValue& value : problem.values) {
      value.conversions.push_back({from, to, Duration::picoseconds(cost)});
    }
  }

  /// Reads and writes everything in one format. Gives its index.
  int add(const std::vector<int>& nodes, int cost, int owner = 0, FormatId format = 0, const std::string& rule = "r") {
    Candidate candidate;
    candidate.nodes = nodes;
    candidate.cost = Duration::picoseconds(cost);
    candidate.owner = owner;
    candidate.rule = rule;
    const auto inside = [&](int node) { return std::count(nodes.begin(), nodes.end(), node) != 0; };
    for (size_t v = 0; v < problem.values.size(); ++v) {
      const ProblemValue& value = problem.values[v];
      const bool all_inside = std::all_of(value.readers.begin(), value.readers.end(), inside);
      if (value.writer >= 0 && inside(value.writer)) {
        if (value.is_output || !all_inside) candidate.writes.push_back({static_cast<int>(v), format});
      } else if (std::any_of(value.readers.begin(), value.readers.end(), inside)) {
        candidate.reads.push_back({static_cast<int>(v), format});
      }
    }
    problem.candidates.push_back(std::move(candidate));
    return static_cast<int>(problem.candidates.size()) - 1;
  }
  /// A candidate per node.
  void add_singletons(int cost, int owner = 0, FormatId format = 0, const std::string& rule = "r") {
    for (int node = 0; node < problem.node_count; ++node) add({node}, cost, owner, format, rule);
  }

  Problem problem;
};

/// Sets of nodes of the chosen candidates.
inline std::set<std::vector<int>> chosen_sets(const Problem& problem, const Solution& solution) {
  std::set<std::vector<int>> sets;
  for (int c : solution.chosen) sets.insert(problem.candidates[static_cast<size_t>(c)].nodes);
  return sets;
}

}  // namespace collage::place
