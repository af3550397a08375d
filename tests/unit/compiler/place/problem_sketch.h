// SPDX-License-Identifier: Apache-2.0
// Small placement problems written by hand: one input value read by the nodes without operands, one result per node.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// A cost of so many picoseconds.
inline Cost ps(int64_t count) {
  return Cost::of(count, Cost::Unit::Seconds);
}

class Sketch {
 public:
  struct Edge {
    NodeId from;
    NodeId to;
  };
  /// Edges from smaller to larger nodes. Results that nobody reads are model outputs.
  Sketch(size_t node_count, const std::vector<Edge>& edges) {
    problem.node_count = node_count;
    problem.formats = {{"host", "plain"}};
    problem.owners = {{"host", "host", {}, {}}};
    problem.values.resize(node_count + 1);
    for (NodeId node : problem.nodes()) result_of(node).writer = node;
    std::set<NodeId> fed;
    for (const auto& [from, to] : edges) {
      result_of(from).readers.push_back(to);
      fed.insert(to);
    }
    for (NodeId node : problem.nodes()) {
      std::sort(result_of(node).readers.begin(), result_of(node).readers.end());
      result_of(node).is_output = result_of(node).readers.empty();
      if (!fed.contains(node)) problem.values.front().readers.push_back(node);
    }
  }

  /// The input comes before all results.
  ProblemValue& result_of(NodeId node) { return problem.values[ProblemValueId(node.slot() + 1)]; }

  OwnerId add_owner(const std::string& backend, const std::string& instance) {
    return problem.owners.add({backend, instance, {}, {}});
  }
  FormatId add_format(const std::string& space, const std::string& layout = "plain") {
    return problem.formats.add({space, layout});
  }
  /// For every value alike.
  void convert(FormatId from, FormatId to, int cost) {
    for (ProblemValue& value : problem.values) {
      value.conversions.push_back({from, to, ps(cost)});
    }
  }

  /// Reads and writes everything in one format.
  CandidateId add(const std::vector<NodeId>& nodes, int cost, OwnerId owner = 0, FormatId format = 0,
                  const std::string& rule = "r") {
    Candidate candidate;
    candidate.nodes = nodes;
    candidate.cost = ps(cost);
    candidate.owner = owner;
    candidate.rule = rule;
    const auto inside = [&](NodeId node) { return std::count(nodes.begin(), nodes.end(), node) != 0; };
    for (ProblemValueId v : problem.values.ids()) {
      const ProblemValue& value = problem.values[v];
      const bool all_inside = std::all_of(value.readers.begin(), value.readers.end(), inside);
      if (value.writer.is_valid() && inside(value.writer)) {
        if (value.is_output || !all_inside) candidate.writes.push_back({v, format});
      } else if (std::any_of(value.readers.begin(), value.readers.end(), inside)) {
        candidate.reads.push_back({v, format});
      }
    }
    return problem.candidates.add(std::move(candidate));
  }
  /// A candidate per node.
  void add_singletons(int cost, OwnerId owner = 0, FormatId format = 0, const std::string& rule = "r") {
    for (NodeId node : problem.nodes()) add({node}, cost, owner, format, rule);
  }

  Problem problem;
};

/// Sets of nodes of the chosen candidates.
inline std::set<std::vector<NodeId>> chosen_sets(const Problem& problem, const Solution& solution) {
  std::set<std::vector<NodeId>> sets;
  for (CandidateId c : solution.chosen) sets.insert(problem.candidates[c].nodes);
  return sets;
}

}  // namespace collage::place
