// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/why_not.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"

namespace collage::place {

match::Refusals refusals_of(const ir::Graph& graph, const ActiveBackend& active, const BackendCandidates& found) {
  return {graph, *active.backend, active.attrs, active.environment.get(), {found.matches.items(), found.refusals}};
}

WhyNot why_not(const ir::Graph& graph, const ActiveBackend& active, const BackendCandidates& found, ir::NodeId node) {
  for (const BackendCandidate& candidate : found.candidates) {
    if (!candidate.failure.empty()) continue;
    if (std::binary_search(candidate.members.nodes.begin(), candidate.members.nodes.end(), node)) return {};
  }
  const ir::Backend& backend = *active.backend;
  std::optional<match::NearMiss> miss = refusals_of(graph, active, found).nearest(node);
  if (!miss) return {fmt::format("no rule of `{}` is about {}", backend.name, graph.node(node).op->name), backend.span};
  const std::string& rule = backend.rules[static_cast<size_t>(miss->rule)].name;
  return {fmt::format("rule `{}`: {}", rule, match::reason_text(*miss)), match::reason_span(backend, *miss)};
}

}  // namespace collage::place
