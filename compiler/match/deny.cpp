// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/deny.h"

#include <algorithm>

namespace collage::match {

std::vector<Denied> find_denied(const Graph& graph, const ir::Backend& backend, const AttrValues& attrs,
                                const Environment* environment) {
  std::vector<Denied> denied;
  if (backend.denies.empty()) return denied;
  // A backend of the denied patterns alone, where values may be read from wherever.
  ir::Backend patterns;
  patterns.name = backend.name;
  patterns.version = backend.version;
  patterns.attrs = backend.attrs;
  patterns.runtime = backend.runtime;
  patterns.library = backend.library;
  patterns.policy.taps = true;
  for (const ir::Deny& deny : backend.denies) patterns.rules.push_back(deny.pattern);
  for (const Match& match : match_backend(graph, patterns, attrs, nullptr, {}, environment)) {
    const ir::Deny& deny = backend.denies[static_cast<size_t>(match.rule)];
    EvalContext context{graph, backend, attrs, match.bindings, nullptr, nullptr, environment};
    denied.push_back({match.nodes, render(deny.reason, context), deny.span});
  }
  return denied;
}

const Denied* denied_in(const std::vector<Denied>& denied, const std::vector<NodeId>& nodes) {
  auto at = std::find_if(denied.begin(), denied.end(), [&](const Denied& set) {
    return std::includes(nodes.begin(), nodes.end(), set.nodes.begin(), set.nodes.end());
  });
  return at == denied.end() ? nullptr : &*at;
}

void refuse_denied(const std::vector<Denied>& denied, std::vector<Match>* matches, MatchReport* report) {
  if (denied.empty()) return;
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
