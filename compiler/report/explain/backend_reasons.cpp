// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/backend_reasons.h"

#include "compiler/ir/ops/op_def.h"
#include "compiler/place/build/why_not.h"
#include "compiler/report/explain/explain_text.h"

namespace collage::report {

using ir::NodeId;
using match::NearMiss;

BackendReasons::BackendReasons(const ExplainedPlacement& explained, const std::string& backend)
    : explained_(explained),
      name_(backend),
      backend_(backend_id(explained, backend)),
      has_candidate_(explained.input.graph.node_count()),
      is_fixed_(explained.input.graph.node_count()) {
  const place::BuiltProblem& built = explained.input.built;
  for (place::CandidateId c : built.candidate_ids()) {
    if (!built.origin(c).fixed.is_valid()) continue;
    for (NodeId node : built.problem.candidates[c].nodes) is_fixed_[node.slot()] = true;
  }
  if (!backend_.is_valid()) return;
  const place::BackendCandidates& found = built.backends[backend_];
  misses_.emplace(place::refusals_of(explained.input.graph, explained.active[backend_], found));
  for (const place::BackendCandidate& candidate : found.candidates) {
    if (!candidate.failure.empty()) continue;
    for (NodeId node : candidate.members.nodes) has_candidate_[node.slot()] = true;
  }
}

bool BackendReasons::had_candidate(NodeId node) const {
  // Whatever its rules say, the host can run every operator.
  return name_ == place::kHostBackend || has_candidate_[node.slot()];
}

std::string BackendReasons::taken_by(NodeId node) const {
  const ir::Graph& graph = explained_.input.graph;
  if (const std::optional<ir::Pin>& pin = graph.node(node).pin) {
    return fmt::format("it is pinned to `{}` ({})", pin->device, location_text(pin->span, explained_.sources));
  }
  if (is_fixed_[node.slot()]) {
    return fmt::format("the model or the placement file has it in partition `@{}`",
                       partition_of(graph, explained_.found.placement, node).name);
  }
  return "`--place`, `--forbid` or `--together` leave nothing there that holds it";
}

std::vector<NearMiss> BackendReasons::misses_of(NodeId node) {
  return misses_ ? misses_->of(node) : std::vector<NearMiss>();
}

std::string BackendReasons::short_reason(NodeId node) {
  if (had_candidate(node)) return "not allowed: " + taken_by(node);
  const std::optional<NearMiss> miss = misses_ ? misses_->nearest(node) : std::nullopt;
  if (!miss) {
    return fmt::format("cannot: no rule has a place for {}", explained_.input.graph.node(node).op->name);
  }
  const ir::Backend& backend = *explained_.active[backend_].backend;
  return fmt::format("cannot: {}: {} ({})", backend.rules[static_cast<size_t>(miss->rule)].name,
                     match::reason_text(*miss), location_text(match::reason_span(backend, *miss), explained_.sources));
}

}  // namespace collage::report
