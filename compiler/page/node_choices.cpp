// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/node_choices.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/page/graph_data.h"
#include "compiler/report/explain/backend_reasons.h"
#include "compiler/report/explain/why.h"

namespace collage::page {
namespace {

using ir::NodeId;
using nlohmann::ordered_json;
using place::CandidateId;

/// Lists texts, each once.
class TextTable {
 public:
  size_t index_of(const std::string& text) {
    const auto [at, is_new] = known_.try_emplace(text, known_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  ordered_json take() { return std::move(texts_); }

 private:
  std::map<std::string, size_t> known_;
  ordered_json texts_ = ordered_json::array();
};

/// The same of rules.
class RuleTable {
 public:
  explicit RuleTable(const report::ExplainedPlacement& explained) : explained_(explained) {}

  /// The rule of the candidate whose match holds the node; -1: none.
  int index_of(CandidateId candidate, NodeId node) {
    const place::CandidateOrigin& origin = explained_.input.built.origin(candidate);
    if (!origin.backend.is_valid()) return -1;
    const place::BackendCandidates& found = explained_.input.built.backends[origin.backend];
    for (place::MatchId m : origin.matches) {
      const match::Match& match = found.matches[m];
      if (!std::binary_search(match.nodes.begin(), match.nodes.end(), node)) continue;
      const ir::Rule& rule = explained_.active[origin.backend].backend->rules[static_cast<size_t>(match.rule)];
      const auto [at, is_new] = known_.try_emplace(&rule, static_cast<int>(known_.size()));
      if (is_new) rules_.push_back(rule_data(rule, explained_.sources));
      return at->second;
    }
    return -1;
  }
  ordered_json take() { return std::move(rules_); }

 private:
  const report::ExplainedPlacement& explained_;
  std::map<const ir::Rule*, int> known_;
  ordered_json rules_ = ordered_json::array();
};

/// By node: the candidate of the backend with fewest nodes, of these the cheapest.
std::vector<CandidateId> smallest_candidates(const report::ExplainedPlacement& explained, const std::string& backend) {
  const place::Problem& problem = explained.input.built.problem;
  std::vector<CandidateId> best(explained.input.graph.node_count());
  for (CandidateId c : explained.input.built.candidate_ids()) {
    const place::Candidate& candidate = problem.candidates[c];
    if (problem.owners[candidate.owner].backend != backend) continue;
    for (NodeId node : candidate.nodes) {
      CandidateId& kept = best[node.slot()];
      const bool is_better = !kept.is_valid() || candidate.nodes.size() < problem.candidates[kept].nodes.size() ||
                             (candidate.nodes.size() == problem.candidates[kept].nodes.size() &&
                              candidate.cost < problem.candidates[kept].cost);
      if (is_better) kept = c;
    }
  }
  return best;
}

/// Whether a search for each node and backend takes a second or two: by states, so that it is decided alike everywhere.
/// Costs that were not measured would make what these searches find too cheap.
bool can_search_for_all(const report::ExplainedPlacement& explained, size_t backends) {
  constexpr uint64_t kStates = 200'000, kStatesOfAny = 100;
  const search::FoundPlacement& found = explained.found;
  if (found.chosen.empty() || found.problem != nullptr || explained.input.built.lazy.not_needed > 0) return false;
  if (!place::is_exact(explained.strategy) || !explained.input.objective->sums_times()) return false;
  const uint64_t searches = explained.input.graph.node_count() * backends;
  return found.states < kStates && searches * (found.states + kStatesOfAny) < kStates;
}

ordered_json instead_data(const report::ExplainedPlacement& explained, const std::vector<std::string>& backends) {
  const ir::Graph& graph = explained.input.graph;
  const ir::Placement& placement = explained.found.placement;
  const std::vector<int> partitions = ir::partition_of_nodes(graph, placement);
  ordered_json nodes = ordered_json::array();
  for (NodeId node : graph.node_ids()) {
    const std::string& home = placement.partitions[static_cast<size_t>(partitions[node.slot()])].backend;
    ordered_json row = ordered_json::array();
    for (const std::string& backend : backends) {
      const bool is_choice = backend != home && report::has_candidate(explained.input.built.problem, node, backend);
      row.push_back(is_choice ? report::with_node_on(explained, node, backend).text : "");
    }
    nodes.push_back(std::move(row));
  }
  return nodes;
}

}  // namespace

ordered_json node_choices(const report::ExplainedPlacement& explained) {
  const place::BuiltProblem& built = explained.input.built;
  const std::vector<std::string> names = backend_names(built.problem);
  std::vector<std::string> backends = names;
  for (const place::ActiveBackend& active : explained.active) {
    const std::string& name = active.backend->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) backends.push_back(name);
  }
  ordered_json nodes = ordered_json::array();
  for (size_t i = 0; i < explained.input.graph.node_count(); ++i) nodes.push_back(ordered_json::array());
  TextTable reasons;
  RuleTable rules(explained);
  const std::map<CandidateId, place::Cost> measured(explained.found.measured_later.begin(),
                                                    explained.found.measured_later.end());
  for (const std::string& backend : backends) {
    const std::vector<CandidateId> smallest = smallest_candidates(explained, backend);
    report::BackendReasons why(explained, backend);
    for (NodeId node : explained.input.graph.node_ids()) {
      const CandidateId c = smallest[node.slot()];
      if (!c.is_valid()) {
        nodes[node.slot()].push_back(reasons.index_of(why.short_reason(node)));
        continue;
      }
      const place::Candidate& candidate = built.problem.candidates[c];
      const auto later = measured.find(c);
      const bool is_bound = built.origin(c).unmeasured && later == measured.end();
      const place::Cost cost = later == measured.end() ? candidate.cost : later->second;
      nodes[node.slot()].push_back({cost.value(), candidate.nodes.size(), rules.index_of(c, node), is_bound ? 1 : 0});
    }
  }
  ordered_json json = {
      {"backends", backends}, {"rules", rules.take()}, {"reasons", reasons.take()}, {"nodes", std::move(nodes)}};
  if (can_search_for_all(explained, backends.size())) json["instead"] = instead_data(explained, backends);
  return json;
}

}  // namespace collage::page
