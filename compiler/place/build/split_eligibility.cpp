// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/split_eligibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace collage::place {
namespace {

/// No solution holds more in this instance. Chosen candidates start at different nodes, so that of splits that start
/// at one node the one with most constants counts; parts run one after another.
int64_t most_bytes(const Problem& problem, const std::string& instance) {
  std::set<ConstantId> constants;
  Table<ProblemValueId, bool> holds(problem.values.size());
  Table<NodeId, int64_t> cut(problem.node_count);
  int64_t part = 0;
  Table<NodeId, std::vector<ProblemValueId>> written_at(problem.node_count);
  for (ProblemValueId v : problem.values.ids()) {
    if (problem.values[v].writer.is_valid()) written_at[problem.values[v].writer].push_back(v);
  }
  for (const Candidate& candidate : problem.candidates) {
    for (const Share& share : candidate.shares) {
      if (problem.owners[share.owner].instance != instance) continue;
      int64_t& most = cut[candidate.nodes.front()];
      most = std::max(most, share.constants);
      part = std::max(part, share.bytes);
    }
    if (problem.owners[candidate.owner].instance != instance) continue;
    constants.insert(candidate.constants.begin(), candidate.constants.end());
    for (const ValueFormat& read : candidate.reads) holds[read.value] = true;
    for (NodeId node : candidate.nodes) {
      for (ProblemValueId v : written_at[node]) holds[v] = true;
    }
  }
  int64_t bytes = part;
  for (int64_t most : cut) bytes += most;
  for (ConstantId constant : constants) bytes += problem.constant_bytes[constant];
  for (ProblemValueId v : holds.ids()) bytes += holds[v] ? problem.values[v].bytes : 0;
  return bytes;
}

/// Why there is no such split; empty where there is.
std::string reason(const Problem& problem, const Candidate& candidate, const std::set<std::string>& tight,
                   std::string_view objection) {
  if (!objection.empty()) return std::string(objection);
  for (const Share& share : candidate.shares) {
    const std::string& instance = problem.owners[share.owner].instance;
    if (tight.count(instance) > 0) return fmt::format("the memory of {} might not be enough for all", instance);
  }
  return "";
}

}  // namespace

void leave_out_splits(const std::vector<MemoryLimit>& limits, std::string_view objection, BuiltProblem* built) {
  const Problem& problem = built->problem;
  if (std::none_of(problem.candidates.begin(), problem.candidates.end(),
                   [](const Candidate& candidate) { return candidate.split.has_value(); })) {
    return;
  }
  std::set<std::string> tight;
  for (const MemoryLimit& limit : limits) {
    if (std::cmp_greater(most_bytes(problem, limit.instance), limit.bytes)) tight.insert(limit.instance);
  }
  std::set<std::pair<BackendCandidateId, std::string>> reported;
  built->keep_if([&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    const CandidateOrigin& origin = built->origin(c);
    const bool can_leave = candidate.split && !origin.fixed.is_valid() && origin.candidate.is_valid();
    const std::string why = can_leave ? reason(problem, candidate, tight, objection) : "";
    if (why.empty()) return true;
    BackendCandidates& found = built->backends[origin.backend];
    const match::Match& match = found.matches[origin.matches.front()];
    std::string message =
        fmt::format("{} parts along {}: {}", candidate.shares.size(), name_of(candidate.split->axis), why);
    if (!reported.emplace(origin.candidate, message).second) return false;
    found.split_refusals.push_back(
        {match::Refusal::Kind::Clause, match.rule, match.root, match.nodes, -1, std::move(message), {}});
    return false;
  });
}

}  // namespace collage::place
