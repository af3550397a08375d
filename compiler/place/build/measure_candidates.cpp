// SPDX-License-Identifier: Apache-2.0
// Measured costs come into the problem: candidates are asked for in batches, since equal ones are one measurement and a
// source may have most of them stored.
#include "compiler/place/build/fixed_partitions.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;
using support::Code;

/// The refusal that `--why-not` and the summary show.
void refuse(BuiltProblem* built, size_t index, const std::string& why) {
  const CandidateOrigin& origin = built->origins[index];
  BackendCandidates& found = built->backends[static_cast<size_t>(origin.backend)];
  BackendCandidate& candidate = found.candidates[static_cast<size_t>(origin.candidate)];
  if (!candidate.failure.empty()) return;  // another instance of it came first
  candidate.failure = why;
  const match::Match& first = found.matches[found.units[candidate.members.units.front()].match];
  found.refusals.push_back({match::Refusal::Kind::Cost, first.rule, first.root, candidate.members.nodes, -1, why});
}

}  // namespace

ir::Partition candidate_partition(const Graph& graph, const BuiltProblem& built, size_t index) {
  const Problem& problem = built.problem;
  const Candidate& candidate = problem.candidates[index];
  const Owner& owner = problem.owners[static_cast<size_t>(candidate.owner)];
  ir::Partition partition;
  partition.name = "p0";
  partition.backend = owner.backend;
  partition.instance = owner.instance;
  partition.rules = built.origins[index].rules;
  for (int node : candidate.nodes) partition.nodes.emplace_back(node);
  auto boundary = [&](const std::vector<ir::ValueId>& values, const std::vector<ValueFormat>& formats) {
    std::vector<ir::BoundaryValue> result;
    for (ir::ValueId value : values) {
      for (const ValueFormat& item : formats) {
        if (built.values[static_cast<size_t>(item.value)] != value) continue;
        result.push_back({value, problem.formats[static_cast<size_t>(item.format)]});
      }
    }
    return result;
  };
  partition.inputs = boundary(ir::boundary_inputs(graph, partition.nodes), candidate.reads);
  partition.outputs = boundary(ir::boundary_outputs(graph, partition.nodes), candidate.writes);
  return partition;
}

std::vector<size_t> unmeasured_candidates(const BuiltProblem& built) {
  std::vector<size_t> list;
  for (size_t i = 0; i < built.origins.size(); ++i) {
    if (built.origins[i].is_open) list.push_back(i);
  }
  return list;
}

bool measure_candidates(const Graph& graph, const ir::Placement& fixed, CostSource& costs,
                        const std::vector<size_t>& asked, BuiltProblem* built, MomentFailures* moment,
                        support::Diagnostics& diags) {
  std::vector<ir::Partition> partitions;
  for (size_t i : asked) partitions.push_back(candidate_partition(graph, *built, i));
  std::vector<MeasuredCost> answers = costs.measure(graph, partitions);
  bool ok = true;
  std::vector<bool> cannot_run(built->origins.size());
  moment->asked += answers.size();
  for (size_t a = 0; a < answers.size(); ++a) {
    CandidateOrigin& origin = built->origins[asked[a]];
    Candidate& candidate = built->problem.candidates[asked[a]];
    origin.is_open = false;
    origin.measurement = answers[a].id;
    if (answers[a].cost) {
      candidate.cost = *answers[a].cost;
      origin.spread = answers[a].spread;
      continue;
    }
    candidate.cost = origin.estimate;
    if (!answers[a].lasting && candidate.cost > Duration()) {
      if (moment->estimated++ == 0) moment->reason = answers[a].failure;
    } else if (origin.fixed >= 0) {
      if (candidate.cost > Duration()) continue;
      const ir::Partition& written = fixed.partitions[static_cast<size_t>(origin.fixed)];
      ok = diags
               .error(Code::PartitionUnsupported, written.span, "partition `@{}` has no cost: {}", written.name,
                      answers[a].failure)
               .note("`cost` behind its rules gives it one: `cost 20us`");
    } else if (origin.backend >= 0) {
      if (origin.candidate >= 0) refuse(built, asked[a], "cannot be measured: " + answers[a].failure);
      cannot_run[asked[a]] = true;
    }
  }
  size_t at = 0;
  filter_candidates(built, [&](const Candidate&) { return !cannot_run[at++]; });
  return ok;
}

void report(const MomentFailures& moment, support::Diagnostics& diags) {
  if (moment.estimated == 0) return;
  diags.warning_at(Code::BackendFailed, "costs", "{} of {} candidates could not be measured now and {} estimated: {}",
                   moment.estimated, moment.asked, moment.estimated == 1 ? "is" : "are", moment.reason);
}

}  // namespace collage::place
