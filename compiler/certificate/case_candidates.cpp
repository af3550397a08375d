// SPDX-License-Identifier: Apache-2.0
// See case_candidates.h.
#include "compiler/certificate/case_candidates.h"

#include <algorithm>

namespace collage::certificate {

using place::Candidate;
using place::Owner;

CaseCandidates::CaseCandidates(const place::Problem& problem, const Limits& limits)
    : problem_(problem), limits_(limits) {}

CaseCandidates::Outcome CaseCandidates::reduce(CaseState& state) {
  while (true) {
    if (!find_forced(state) || !add_up_forced(state)) return Outcome::Empty;
    const size_t before = state.left.size();
    std::erase_if(state.left, [&](CandidateId c) { return !may_stay(state, c); });
    if (state.left.size() == before) break;
  }
  if (has_cycle()) return Outcome::Empty;
  const bool is_decided = std::all_of(forced_at_.begin(), forced_at_.end(), [](CandidateId c) { return c.is_valid(); });
  return is_decided ? Outcome::Decided : Outcome::Open;
}

/// False: some node has no candidate left, or two that both have to be there.
bool CaseCandidates::find_forced(const CaseState& state) {
  Table<NodeId, size_t> covers(problem_.node_count, 0);
  Table<NodeId, CandidateId> last(problem_.node_count);
  for (CandidateId c : state.left) {
    for (NodeId node : problem_.candidates[c].nodes) {
      ++covers[node];
      last[node] = c;
    }
  }
  forced_.clear();
  for (NodeId node : covers.ids()) {
    if (covers[node] == 0) return false;
    if (covers[node] == 1) forced_.push_back(last[node]);
  }
  std::sort(forced_.begin(), forced_.end());
  forced_.erase(std::unique(forced_.begin(), forced_.end()), forced_.end());
  forced_at_.assign(problem_.node_count, CandidateId());
  for (CandidateId c : forced_) {
    for (NodeId node : problem_.candidates[c].nodes) {
      if (forced_at_[node].is_valid()) return false;
      forced_at_[node] = c;
    }
  }
  return true;
}

/// False: the forced candidates exceed a limit.
bool CaseCandidates::add_up_forced(const CaseState& state) {
  partitions_.assign(limits_.counters(), 0);
  allowed_.assign(limits_.counters(), INT64_MAX);
  is_used_.assign(problem_.owners.size(), false);
  used_.clear();
  resident_.assign(limits_.instances(), Table<ConstantId, bool>(problem_.constant_bytes.size(), false));
  constant_bytes_.assign(limits_.instances(), 0);
  most_working_.assign(limits_.instances(), 0);
  for (CandidateId c : forced_) {
    const Candidate& candidate = problem_.candidates[c];
    if (!is_used_[candidate.owner]) used_.push_back(candidate.owner);
    is_used_[candidate.owner] = true;
    if (const Limits::CounterId counter = limits_.counter_of(candidate.owner); counter.is_valid()) {
      ++partitions_[counter];
      allowed_[counter] = std::min<int64_t>(allowed_[counter], *problem_.owners[candidate.owner].max_partitions);
    }
    const Limits::InstanceId instance = limits_.instance_of(c);
    if (!instance.is_valid()) continue;
    most_working_[instance] = std::max(most_working_[instance], limits_.working_bytes(c));
    for (ConstantId constant : candidate.constants) {
      if (resident_[instance][constant]) continue;
      resident_[instance][constant] = true;
      constant_bytes_[instance] += problem_.constant_bytes[constant];
    }
  }
  for (Limits::CounterId counter : partitions_.ids()) {
    if (partitions_[counter] > allowed_[counter]) return false;
  }
  for (OwnerId a : used_) {
    for (OwnerId b : used_) {
      if (limits_.conflict(a, b)) return false;
    }
  }
  for (Limits::InstanceId i : constant_bytes_.ids()) {
    if (constant_bytes_[i] > room_for_constants(state, i)) return false;
  }
  return true;
}

/// Beside the forced ones.
bool CaseCandidates::may_stay(const CaseState& state, CandidateId c) const {
  const Candidate& candidate = problem_.candidates[c];
  if (forced_at_[candidate.nodes.front()] == c) return true;
  for (NodeId node : candidate.nodes) {
    if (forced_at_[node].is_valid()) return false;
  }
  if (const Limits::CounterId counter = limits_.counter_of(candidate.owner); counter.is_valid()) {
    const int64_t own = *problem_.owners[candidate.owner].max_partitions;
    if (partitions_[counter] + 1 > std::min(own, allowed_[counter])) return false;
  }
  for (OwnerId used : used_) {
    if (limits_.conflict(used, candidate.owner)) return false;
  }
  const Limits::InstanceId instance = limits_.instance_of(c);
  if (!instance.is_valid()) return true;
  Wide bytes = constant_bytes_[instance] +
               std::max<Wide>({most_working_[instance], state.demanded[instance], limits_.working_bytes(c)});
  for (ConstantId constant : candidate.constants) {
    if (!resident_[instance][constant]) bytes += problem_.constant_bytes[constant];
  }
  return bytes <= limits_.memory(instance);
}

/// Among the forced candidates and the other nodes, one by one: however these are covered, the cycle stays.
bool CaseCandidates::has_cycle() {
  // A part is named by its first node.
  const auto part_of = [&](NodeId node) {
    const CandidateId c = forced_at_[node];
    return c.is_valid() ? problem_.candidates[c].nodes.front() : node;
  };
  Table<NodeId, std::vector<NodeId>> after(problem_.node_count);
  Table<NodeId, size_t> waits(problem_.node_count, 0);
  for (const place::ProblemValue& value : problem_.values) {
    if (!value.writer.is_valid()) continue;
    const NodeId from = part_of(value.writer);
    for (NodeId reader : value.readers) {
      const NodeId to = part_of(reader);
      if (to == from) continue;
      after[from].push_back(to);
      ++waits[to];
    }
  }
  std::vector<NodeId> ready;
  size_t parts = 0;
  for (NodeId node : after.ids()) {
    if (part_of(node) != node) continue;
    ++parts;
    if (waits[node] == 0) ready.push_back(node);
  }
  for (; !ready.empty(); --parts) {
    const NodeId part = ready.back();
    ready.pop_back();
    for (NodeId next : after[part]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  return parts > 0;
}

}  // namespace collage::certificate
