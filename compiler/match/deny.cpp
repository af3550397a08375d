// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/deny.h"

#include <algorithm>

namespace collage::match {

std::vector<Denied> find_denied(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                const Environment* environment) {
  std::vector<Denied> denied;
  std::vector<const ir::Deny*> denies;
  for (const ir::Deny& deny : backend.denies) denies.push_back(&deny);
  const bool is_strict = environment != nullptr && environment->keeps_special_values;
  for (const ir::Loss& loss : backend.losses) {
    if (is_strict) denies.push_back(&loss);
  }
  if (denies.empty()) return denied;
  std::vector<ir::Rule> rules;
  for (const ir::Deny* deny : denies) rules.push_back(deny->pattern);
  ir::Backend patterns = with_patterns(backend, std::move(rules));
  // What is missed here would be placed all the same, so the search for it goes far.
  constexpr MatchLimits kFar{.derivations = 1 << 18, .steps = 20'000'000};
  for (const Match& match : match_backend(graph, patterns, attrs, nullptr, kFar, environment)) {
    const ir::Deny& deny = *denies[static_cast<size_t>(match.rule)];
    EvalContext context{graph, backend, attrs, match.bindings, nullptr, nullptr, environment};
    denied.push_back({match.nodes, render(deny.reason, context), deny.span});
  }
  std::stable_sort(denied.begin(), denied.end(),
                   [](const Denied& a, const Denied& b) { return a.nodes.front() < b.nodes.front(); });
  return denied;
}

const Denied* denied_in(const std::vector<Denied>& denied, const std::vector<NodeId>& nodes) {
  for (NodeId node : nodes) {
    auto at = std::lower_bound(denied.begin(), denied.end(), node,
                               [](const Denied& set, NodeId first) { return set.nodes.front() < first; });
    for (; at != denied.end() && at->nodes.front() == node; ++at) {
      if (std::includes(nodes.begin(), nodes.end(), at->nodes.begin(), at->nodes.end())) return &*at;
    }
  }
  return nullptr;
}

void refuse_denied(const std::vector<Denied>& denied, std::vector<Match>* matches, MatchReport* report) {
  if (denied.empty()) return;
  // A kernel that was not made for such a match says less than who forbids it.
  for (size_t i = 0; report != nullptr && i < report->refusals.size(); ++i) {
    Refusal& refusal = report->refusals[i];
    if (refusal.kind != Refusal::Kind::Lowering) continue;
    const Denied* why = denied_in(denied, refusal.nodes);
    if (why != nullptr)
      refusal = {Refusal::Kind::Denied, refusal.rule, refusal.root, refusal.nodes, -1, why->message, why->span};
  }
  auto is_denied = [&](const Match& match) {
    const Denied* why = denied_in(denied, match.nodes);
    if (why == nullptr) return false;
    if (report != nullptr) {
      report->refusals.push_back(
          {Refusal::Kind::Denied, match.rule, match.root, match.nodes, -1, why->message, why->span});
    }
    return true;
  };
  matches->erase(std::remove_if(matches->begin(), matches->end(), is_denied), matches->end());
}

}  // namespace collage::match
