// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/frequent_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/ir/ops/op_def.h"
#include "compiler/match/predicate_boundary.h"
#include "compiler/place/build/why_not.h"

namespace collage::report {
namespace {

using ir::NodeId;
using match::NearMiss;
using match::Refusal;

/// Refusals of one reason. Members of a family share their clauses.
using Key = std::tuple<std::string_view, Refusal::Kind, std::string, std::string>;

std::set<NodeId> nodes_it_can_run(const place::BackendCandidates& found) {
  std::set<NodeId> nodes;
  for (const place::BackendCandidate& candidate : found.candidates) {
    if (candidate.failure.empty()) nodes.insert(candidate.members.nodes.begin(), candidate.members.nodes.end());
  }
  return nodes;
}

/// `Relu(Conv(x))` that fails for its convolution says nothing of the Relu: another node of the attempt has the same
/// reason, and comes before it.
bool repeats_another(NodeId node, const NearMiss& miss, const std::map<NodeId, NearMiss>& all) {
  return std::any_of(miss.nodes.begin(), miss.nodes.end(), [&](NodeId other) {
    auto at = all.find(other);
    return other < node && at != all.end() && at->second.message == miss.message;
  });
}

}  // namespace

std::map<NodeId, NearMiss> counted_refusals(const ir::Graph& graph, const place::ActiveBackend& active,
                                            const place::BackendCandidates& found) {
  std::set<NodeId> can_run = nodes_it_can_run(found);
  match::Refusals refusals = place::refusals_of(graph, active, found);
  std::map<NodeId, NearMiss> all;
  for (const Refusal& refusal : found.refusals) {
    if (refusal.kind == Refusal::Kind::Structure || can_run.contains(refusal.root) || all.contains(refusal.root))
      continue;
    if (std::optional<NearMiss> miss = refusals.nearest(refusal.root)) all.emplace(refusal.root, std::move(*miss));
  }
  std::map<NodeId, NearMiss> counted;
  for (const auto& [node, miss] : all) {
    if (!repeats_another(node, miss, all)) counted.emplace(node, miss);
  }
  return counted;
}

std::vector<FrequentRefusal> frequent_refusals(const ir::Graph& graph, const place::ActiveBackend& active,
                                               const place::BackendCandidates& found,
                                               const support::SourceManager& sources) {
  const ir::Backend& backend = *active.backend;
  struct Group {
    FrequentRefusal refusal;
    std::map<std::string, size_t> messages;
  };
  std::map<Key, Group> groups;
  for (const auto& [node, miss] : counted_refusals(graph, active, found)) {
    const ir::Rule& rule = backend.rules[static_cast<size_t>(miss.rule)];
    const ir::Clause* clause = miss.clause < 0 ? nullptr : &rule.clauses[static_cast<size_t>(miss.clause)];
    const std::string reason = match::reason_text(miss);
    Group& group =
        groups[{graph.node(node).op->name, miss.kind, clause ? rule.family : "", clause ? clause->source : reason}];
    ++group.messages[reason];
    if (group.refusal.nodes++ > 0) continue;
    group.refusal.op = graph.node(node).op;
    group.refusal.span = clause ? clause->span : rule.span;
    if (clause) group.refusal.boundary = match::predicate_boundary(*clause, graph, backend, active.attrs, sources);
  }
  std::vector<FrequentRefusal> result;
  for (auto& [key, group] : groups) {
    auto most = std::max_element(group.messages.begin(), group.messages.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
    group.refusal.message = most->first;
    result.push_back(std::move(group.refusal));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const FrequentRefusal& a, const FrequentRefusal& b) { return a.nodes > b.nodes; });
  return result;
}

std::string to_string(const FrequentRefusal& refusal) {
  std::string text = fmt::format("{}x {} \"{}\"", refusal.nodes, refusal.op->name, refusal.message);
  return refusal.boundary.empty() ? text : fmt::format("{} (supported while {})", text, refusal.boundary);
}

}  // namespace collage::report
