// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/explain/frequent_refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compiler/ir/op_def.h"
#include "compiler/match/predicate_boundary.h"

namespace collage::driver {
namespace {

using ir::NodeId;
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

/// The refusal that says most of each root that the backend cannot run: that of the smallest match, since a larger one
/// may fail for what is further up.
std::map<NodeId, const Refusal*> telling_refusals(const place::BackendCandidates& found) {
  std::set<NodeId> can_run = nodes_it_can_run(found);
  std::map<NodeId, const Refusal*> best;
  for (const Refusal& refusal : found.refusals) {
    if (refusal.kind == Refusal::Kind::Structure || can_run.count(refusal.root) > 0) continue;
    auto [at, is_new] = best.try_emplace(refusal.root, &refusal);
    if (!is_new && refusal.nodes.size() < at->second->nodes.size()) at->second = &refusal;
  }
  // `Relu(Conv(x))` that fails for its convolution says nothing of the Relu.
  std::erase_if(best, [&](const auto& entry) {
    const Refusal& refusal = *entry.second;
    return std::any_of(refusal.nodes.begin(), refusal.nodes.end(), [&](NodeId node) {
      auto other = best.find(node);
      return node != refusal.root && other != best.end() && other->second->message == refusal.message;
    });
  });
  return best;
}

}  // namespace

std::vector<FrequentRefusal> frequent_refusals(const ir::Graph& graph, const place::ActiveBackend& active,
                                               const place::BackendCandidates& found,
                                               const support::SourceManager& sources) {
  const ir::Backend& backend = *active.backend;
  struct Group {
    FrequentRefusal refusal;
    std::map<std::string, size_t> messages;
  };
  std::map<Key, Group> groups;
  for (const auto& [node, refusal] : telling_refusals(found)) {
    const ir::Rule& rule = backend.rules[static_cast<size_t>(refusal->rule)];
    const ir::Clause* clause = refusal->clause < 0 ? nullptr : &rule.clauses[static_cast<size_t>(refusal->clause)];
    Group& group = groups[{graph.node(node).op->name, refusal->kind, clause ? rule.family : "",
                           clause ? clause->source : refusal->message}];
    ++group.messages[refusal->message];
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

}  // namespace collage::driver
