// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/built_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "compiler/support/check.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

std::string names(const Graph& graph, const BuiltProblem& built, const std::vector<ValueFormat>& list) {
  std::string text;
  for (const ValueFormat& item : list) {
    text += fmt::format("{}%{}: {}", text.empty() ? "" : ", ",
                        graph.value(built.values[static_cast<size_t>(item.value)]).name,
                        ir::to_string(built.problem.formats[static_cast<size_t>(item.format)]));
  }
  return text;
}

}  // namespace

int index_of_value(const BuiltProblem& built, ValueId value) {
  auto at = std::lower_bound(built.values.begin(), built.values.end(), value);
  COLLAGE_CHECK(at != built.values.end() && *at == value, "value {} is a constant", value.index);
  return static_cast<int>(at - built.values.begin());
}

std::vector<ir::ChosenMatch> chosen_matches(const BuiltProblem& built, size_t candidate) {
  const CandidateOrigin& origin = built.origin(candidate);
  std::vector<ir::ChosenMatch> chosen;
  for (size_t i = 0; i < origin.matches.size(); ++i) {
    const match::Match& match = built.backends[static_cast<size_t>(origin.backend)].matches[origin.matches[i]];
    chosen.push_back(match::to_chosen(origin.rules[i], match));
  }
  return chosen;
}

ir::Partition candidate_partition(const Graph& graph, const BuiltProblem& built, size_t index) {
  const Problem& problem = built.problem;
  const Candidate& candidate = problem.candidates[index];
  const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
  ir::Partition partition;
  partition.name = "p0";
  partition.backend = owner.backend;
  partition.instance = owner.instance;
  partition.matches = chosen_matches(built, index);
  for (int node : candidate.nodes) partition.nodes.emplace_back(node);
  auto boundary = [&](const std::vector<ir::ValueId>& values, const std::vector<ValueFormat>& formats) {
    std::vector<ir::BoundaryValue> result;
    for (ir::ValueId value : values) {
      for (const ValueFormat& item : formats) {
        if (built.values[static_cast<size_t>(item.value)] != value) continue;
        result.push_back({value, problem.formats[static_cast<size_t>(item.format)]});
      }
    }
    return result;
  };
  partition.inputs = boundary(ir::boundary_inputs(graph, partition.nodes), candidate.reads);
  partition.outputs = boundary(ir::boundary_outputs(graph, partition.nodes), candidate.writes);
  return partition;
}

std::string print_candidates(const Graph& graph, const BuiltProblem& built) {
  std::vector<size_t> order(built.problem.candidates.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Candidate& x = built.problem.candidates[a];
    const Candidate& y = built.problem.candidates[b];
    return std::tuple(x.nodes.front(), x.owner, x.nodes.size()) < std::tuple(y.nodes.front(), y.owner, y.nodes.size());
  });
  std::string text;
  for (size_t i : order) {
    const Candidate& candidate = built.problem.candidates[i];
    const Owner& owner = built.problem.owners[static_cast<size_t>(candidate.owner)];
    std::vector<std::string> nodes;
    for (int node : candidate.nodes) nodes.push_back(graph.node_name(NodeId(node)));
    text += fmt::format("{} {} {{{}}} {}", owner.backend, owner.instance, fmt::join(nodes, ", "),
                        runtime::to_string(candidate.cost));
    if (!built.origin(i).rules.empty()) text += fmt::format(" rules {}", fmt::join(built.origin(i).rules, ", "));
    if (!candidate.reads.empty()) text += " reads " + names(graph, built, candidate.reads);
    if (!candidate.writes.empty()) text += " writes " + names(graph, built, candidate.writes);
    if (candidate.split) {
      text +=
          fmt::format(" split %{} along {}", graph.node_name(candidate.split->node), name_of(candidate.split->axis));
    }
    text += "\n";
  }
  return text;
}

}  // namespace collage::place
