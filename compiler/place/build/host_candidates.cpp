// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/host_candidates.h"

#include <algorithm>
#include <set>

#include "compiler/place/build/owners.h"
#include "compiler/place/candidates/host_cost.h"

namespace collage::place {
namespace {

using ir::NodeId;
using ir::ValueId;

/// One candidate with these nodes (ascending, convex).
void add_on_host(const std::vector<NodeId>& nodes, ProblemBuilder& builder) {
  const FormatId plain = builder.built.problem.host_plain;
  Candidate added;
  added.nodes = nodes;
  const Duration estimate = host_cost(builder.graph, nodes, builder.options.has_code);
  added.cost = Cost::time(estimate);
  std::vector<ValueId> reads = ir::boundary_inputs(builder.graph, nodes);
  std::sort(reads.begin(), reads.end());
  for (ValueId value : reads) added.reads.push_back({problem_value(builder.built, value), plain});
  for (ValueId value : ir::boundary_outputs(builder.graph, nodes)) {
    added.writes.push_back({problem_value(builder.built, value), plain});
  }
  added.owner = kImplicitHost;
  CandidateOrigin origin;
  origin.measured = origin.unmeasured = true;
  origin.estimate = estimate;
  builder.built.add_candidate(std::move(added), std::move(origin));
}

}  // namespace

void add_host_singles(ProblemBuilder& builder) {
  std::set<NodeId> covered;
  const BuiltProblem& built = builder.built;
  for (CandidateId c : built.candidate_ids()) {
    const Candidate& candidate = built.problem.candidates[c];
    const Owner& owner = builder.owner_of(candidate);
    bool on_host = owner.backend == kHostBackend && !owner.max_partitions && owner.conflicts.empty();
    if (on_host && candidate.nodes.size() == 1) covered.insert(candidate.nodes.front());
    if (built.origin(c).fixed.is_valid()) covered.insert(candidate.nodes.begin(), candidate.nodes.end());
  }
  for (NodeId node : builder.graph.node_ids()) {
    if (!covered.contains(node)) add_on_host({node}, builder);
  }
}

void add_together_on_host(ProblemBuilder& builder) {
  for (const Constraint& constraint : builder.options.constraints) {
    if (constraint.kind != Constraint::Kind::Together || !is_convex(builder.graph, constraint.nodes)) continue;
    const Table<CandidateId, Candidate>& candidates = builder.built.problem.candidates;
    bool exists = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
      return candidate.nodes == constraint.nodes && builder.owner_of(candidate).backend == kHostBackend;
    });
    if (!exists) add_on_host(constraint.nodes, builder);
  }
}

}  // namespace collage::place
