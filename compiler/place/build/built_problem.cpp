// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/built_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "compiler/place/problem/subproblem.h"
#include "runtime/core/joined.h"
#include "runtime/support/check.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

std::string names(const Graph& graph, const BuiltProblem& built, const std::vector<ValueFormat>& list) {
  return runtime::joined(list, ", ", [&](const ValueFormat& item) {
    return fmt::format("%{}: {}", graph.value(built.values[item.value]).name,
                       ir::to_string(built.problem.formats[item.format]));
  });
}

}  // namespace

void BuiltProblem::add_candidate(Candidate candidate, CandidateOrigin origin) {
  candidate.rule = fmt::format("{}", fmt::join(origin.rules, ","));
  problem.candidates.push_back(std::move(candidate));
  origins_.push_back(std::move(origin));
}

void BuiltProblem::rename_spread(const Table<CandidateId, CandidateId>& renamed) {
  if (!spread || !spread->solution) return;
  for (CandidateId& chosen : spread->solution->chosen) chosen = renamed[chosen];
  const bool is_whole = std::all_of(spread->solution->chosen.begin(), spread->solution->chosen.end(),
                                    [](CandidateId chosen) { return chosen.is_valid(); });
  if (is_whole) return;
  spread->solution.reset();
  spread->why = "over so many instances nothing but the placement itself is searched";
}

ProblemValueId problem_value(const BuiltProblem& built, ValueId value) {
  auto at = std::lower_bound(built.values.begin(), built.values.end(), value);
  COLLAGE_CHECK(at != built.values.end() && *at == value, "value {} is a constant", value.index);
  return ProblemValueId(at - built.values.begin());
}

std::vector<ir::ChosenMatch> chosen_matches(const BuiltProblem& built, CandidateId candidate) {
  const CandidateOrigin& origin = built.origin(candidate);
  std::vector<ir::ChosenMatch> chosen;
  for (size_t i = 0; i < origin.matches.size(); ++i) {
    const match::Match& match = built.backends[origin.backend].matches[origin.matches[i]];
    chosen.push_back(match::to_chosen(origin.rules[i], match));
  }
  return chosen;
}

ir::Partition candidate_partition(const Graph& graph, const BuiltProblem& built, CandidateId id) {
  const Problem& problem = built.problem;
  const Candidate& candidate = problem.candidates[id];
  const Owner& owner = problem.owners[candidate.owner];
  ir::Partition partition;
  partition.name = "p0";
  partition.backend = owner.backend;
  partition.instance = owner.instance;
  partition.matches = chosen_matches(built, id);
  partition.nodes = candidate.nodes;
  auto boundary = [&](const std::vector<ir::ValueId>& values, const std::vector<ValueFormat>& formats) {
    std::vector<ir::BoundaryValue> result;
    for (ir::ValueId value : values) {
      for (const ValueFormat& item : formats) {
        if (built.values[item.value] != value) continue;
        result.push_back({value, problem.formats[item.format]});
      }
    }
    return result;
  };
  partition.inputs = boundary(ir::boundary_inputs(graph, partition.nodes), candidate.reads);
  partition.outputs = boundary(ir::boundary_outputs(graph, partition.nodes), candidate.writes);
  return partition;
}

std::string print_candidates(const Graph& graph, const BuiltProblem& built) {
  std::vector<CandidateId> order = all_candidates(built.problem);
  std::stable_sort(order.begin(), order.end(), [&](CandidateId a, CandidateId b) {
    const Candidate& x = built.problem.candidates[a];
    const Candidate& y = built.problem.candidates[b];
    return std::tuple(x.nodes.front(), x.owner, x.nodes.size()) < std::tuple(y.nodes.front(), y.owner, y.nodes.size());
  });
  std::string text;
  for (CandidateId c : order) {
    const Candidate& candidate = built.problem.candidates[c];
    const Owner& owner = built.problem.owners[candidate.owner];
    std::vector<std::string> nodes;
    for (NodeId node : candidate.nodes) nodes.push_back(graph.node_name(node));
    text += fmt::format("{} {} {{{}}} {}", owner.backend, owner.instance, fmt::join(nodes, ", "),
                        to_string(candidate.cost));
    if (!built.origin(c).rules.empty()) text += fmt::format(" rules {}", fmt::join(built.origin(c).rules, ", "));
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
