// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/host_candidates.h"

#include <algorithm>
#include <set>

#include "compiler/place/build/owners.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/formats/format_graph.h"

namespace collage::place {
namespace {

using ir::NodeId;
using ir::ValueId;

/// One candidate with these nodes (ascending, convex).
void add_on_host(const std::vector<NodeId>& nodes, OwnerId host, ProblemBuilder& builder) {
  const ir::Format lies(builder.built.problem.owners[host].instance);
  const FormatId plain = intern_format(lies, &builder.built.problem.formats);
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
  added.owner = host;
  CandidateOrigin origin;
  origin.measured = origin.unmeasured = true;
  origin.estimate = estimate;
  builder.built.add_candidate(std::move(added), std::move(origin));
}

}  // namespace

void add_host_singles(ProblemBuilder& builder) {
  std::set<std::pair<std::string, NodeId>> covered;  // on a host
  std::set<NodeId> fixed;
  const BuiltProblem& built = builder.built;
  for (CandidateId c : built.candidate_ids()) {
    const Candidate& candidate = built.problem.candidates[c];
    const Owner& owner = builder.owner_of(candidate);
    bool on_host = owner.backend == kHostBackend && !owner.max_partitions && owner.conflicts.empty();
    if (on_host && candidate.nodes.size() == 1) covered.emplace(owner.instance, candidate.nodes.front());
    if (built.origin(c).fixed.is_valid()) fixed.insert(candidate.nodes.begin(), candidate.nodes.end());
  }
  for (OwnerId host : implicit_hosts(built.problem)) {
    const std::string instance = built.problem.owners[host].instance;
    for (NodeId node : builder.graph.node_ids()) {
      const bool is_covered = fixed.contains(node) || covered.contains({instance, node});
      if (!is_covered && builder.is_offered({node}, host)) add_on_host({node}, host, builder);
    }
  }
}

void add_together_on_host(ProblemBuilder& builder) {
  for (const Constraint& constraint : builder.options.constraints) {
    if (constraint.kind != Constraint::Kind::Together || !is_convex(builder.graph, constraint.nodes)) continue;
    const Table<CandidateId, Candidate>& candidates = builder.built.problem.candidates;
    for (OwnerId host : implicit_hosts(builder.built.problem)) {
      const std::string instance = builder.built.problem.owners[host].instance;
      bool exists = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        const Owner& owner = builder.owner_of(candidate);
        return candidate.nodes == constraint.nodes && owner.backend == kHostBackend && owner.instance == instance;
      });
      if (!exists && builder.is_offered(constraint.nodes, host)) add_on_host(constraint.nodes, host, builder);
    }
  }
}

}  // namespace collage::place
