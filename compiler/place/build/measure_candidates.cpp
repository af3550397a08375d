// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/measure_candidates.h"

namespace collage::place {
namespace {

using support::Code;

/// The refusal that `why-not` and the summary show.
void refuse(const CandidateOrigin& origin, const std::string& why, BuiltProblem* built) {
  BackendCandidates& found = built->backends[origin.backend];
  BackendCandidate& candidate = found.candidates[origin.candidate];
  if (!candidate.failure.empty()) return;  // another instance of it came first
  candidate.failure = why;
  const match::Match& first = found.matches[found.units[candidate.members.units.front()].match];
  found.refusals.push_back({match::Refusal::Kind::Cost, first.rule, first.root, candidate.members.nodes, -1, why});
}

}  // namespace

void mark_unmeasured(ProblemBuilder& builder) {
  BuiltProblem& built = builder.built;
  for (CandidateId c : built.candidate_ids()) {
    CandidateOrigin& origin = built.origin(c);
    origin.unmeasured = builder.measures() && origin.measured;
    origin.estimate = built.problem.candidates[c].cost.time();
  }
}

std::vector<CandidateId> unmeasured_candidates(const BuiltProblem& built) {
  std::vector<CandidateId> list;
  for (CandidateId c : built.candidate_ids()) {
    if (built.origin(c).unmeasured) list.push_back(c);
  }
  return list;
}

namespace {

/// A written partition that cannot be measured keeps its estimate, or has no cost.
bool keep_written(const ProblemBuilder& builder, const CandidateOrigin& origin, const std::string& failure) {
  if (origin.estimate > Duration()) return true;
  const ir::Partition& written = builder.options.fixed->partitions[origin.fixed.slot()];
  return builder.diags
      .error(Code::PartitionUnsupported, written.span, "partition `@{}` has no cost: {}", written.name, failure)
      .note("`cost` after its rules gives it one: `cost 20us`");
}

}  // namespace

bool measure_candidates(ProblemBuilder& builder, const std::vector<CandidateId>& asked, TransientFailures* failures) {
  BuiltProblem& built = builder.built;
  std::vector<ir::Partition> partitions;
  for (CandidateId c : asked) partitions.push_back(candidate_partition(builder.graph, built, c));
  std::vector<MeasuredCost> answers = builder.options.costs->measure(builder.graph, partitions);
  if (builder.options.costs->is_stopped()) return false;
  bool ok = true;
  Table<CandidateId, bool> cannot_run(built.problem.candidates.size());
  failures->asked += answers.size();
  for (size_t a = 0; a < answers.size(); ++a) {
    CandidateOrigin& origin = built.origin(asked[a]);
    Candidate& candidate = built.problem.candidates[asked[a]];
    origin.unmeasured = false;
    origin.measurement = answers[a].id;
    if (answers[a].cost) {
      candidate.cost = Cost::time(*answers[a].cost);
      origin.spread = answers[a].spread;
      continue;
    }
    candidate.cost = Cost::time(origin.estimate);
    if (!answers[a].lasting && origin.estimate > Duration()) {
      if (failures->estimated++ == 0) failures->reason = answers[a].failure;
    } else if (origin.fixed.is_valid()) {
      ok = keep_written(builder, origin, answers[a].failure) && ok;
    } else if (origin.backend.is_valid()) {
      if (origin.candidate.is_valid()) refuse(origin, "cannot be measured: " + answers[a].failure, &built);
      cannot_run[asked[a]] = true;
    }
  }
  built.keep_if([&](CandidateId c) { return !cannot_run[c]; });
  return ok;
}

bool measure_all_candidates(ProblemBuilder& builder) {
  TransientFailures failures;
  bool ok = true;
  for (auto asked = unmeasured_candidates(builder.built); ok && !asked.empty();
       asked = unmeasured_candidates(builder.built)) {
    ok = measure_candidates(builder, asked, &failures) && builder.complete();
  }
  report(failures, builder.diags);
  return ok;
}

void report(const TransientFailures& failures, support::Diagnostics& diags) {
  if (failures.estimated == 0) return;
  diags.warning_at(Code::BackendFailed, "costs", "{} of {} candidates could not be measured now and {} estimated: {}",
                   failures.estimated, failures.asked, failures.estimated == 1 ? "is" : "are", failures.reason);
}

}  // namespace collage::place
