// SPDX-License-Identifier: Apache-2.0
// See memory_limits.h.
#include "compiler/place/problem/memory_limits.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace collage::place {
namespace {

/// In the order of execution.
using MemoryStep = Id<struct MemoryStepTag>;
/// A chosen candidate by its place among the chosen ones.
using MemoryPart = Id<struct MemoryPartTag>;

}  // namespace

MemoryLimits::MemoryLimits(const Problem& problem)
    : problem_(problem), instance_of_owner_(problem.owners.size()), written_at_(problem.node_count) {
  std::map<std::string, InstanceId> index;
  for (const Owner& owner : problem.owners) {
    if (!owner.memory) continue;
    const auto [it, is_new] = index.emplace(owner.instance, instances_.next_id());
    if (is_new) instances_.push_back({owner.instance, *owner.memory});
    int64_t& bytes = instances_[it->second].bytes;
    bytes = std::min(bytes, *owner.memory);
  }
  for (OwnerId o : problem.owners.ids()) {
    const auto it = index.find(problem.owners[o].instance);
    if (it != index.end()) instance_of_owner_[o] = it->second;
  }
  for (ProblemValueId v : problem.values.ids()) {
    const NodeId writer = problem.values[v].writer;
    if (writer.is_valid()) written_at_[writer].push_back(v);
  }
}

MemoryLimits::InstanceId MemoryLimits::instance_of(CandidateId candidate) const {
  return instance_of_owner_[problem_.candidates[candidate].owner];
}

int64_t MemoryLimits::working_bytes(CandidateId candidate) const {
  const Candidate& of = problem_.candidates[candidate];
  int64_t bytes = 0;
  for (NodeId node : of.nodes) {
    for (ProblemValueId v : written_at_[node]) bytes += problem_.values[v].bytes;
  }
  ProblemValueId last;
  for (const ValueFormat& read : of.reads) {
    if (read.value != last) bytes += problem_.values[read.value].bytes;
    last = read.value;
  }
  return bytes;
}

bool MemoryLimits::can_bind() const {
  for (InstanceId i : instances_.ids()) {
    std::set<ConstantId> constants;
    std::set<ProblemValueId> values;
    for (CandidateId c : problem_.candidates.ids()) {
      if (instance_of(c) != i) continue;
      const Candidate& candidate = problem_.candidates[c];
      constants.insert(candidate.constants.begin(), candidate.constants.end());
      for (const ValueFormat& read : candidate.reads) values.insert(read.value);
      for (NodeId node : candidate.nodes) values.insert(written_at_[node].begin(), written_at_[node].end());
    }
    int64_t most = 0;
    for (ConstantId k : constants) most += problem_.constant_bytes[k];
    for (ProblemValueId v : values) most += problem_.values[v].bytes;
    if (most > instances_[i].bytes) return true;
  }
  return false;
}

int64_t MemoryLimits::constants(InstanceId instance, const std::vector<CandidateId>& chosen) const {
  std::set<ConstantId> resident;
  for (CandidateId c : chosen) {
    if (instance_of(c) != instance) continue;
    const std::vector<ConstantId>& own = problem_.candidates[c].constants;
    resident.insert(own.begin(), own.end());
  }
  int64_t bytes = 0;
  for (ConstantId k : resident) bytes += problem_.constant_bytes[k];
  return bytes;
}

bool MemoryLimits::could_fit(const std::vector<CandidateId>& chosen) const {
  for (InstanceId i : instances_.ids()) {
    int64_t worst = 0;
    for (CandidateId c : chosen) {
      if (instance_of(c) == i) worst = std::max(worst, working_bytes(c));
    }
    if (constants(i, chosen) + worst > instances_[i].bytes) return false;
  }
  return true;
}

/// The topological order of the quotient by smallest node.
std::vector<CandidateId> MemoryLimits::execution_order(const std::vector<CandidateId>& chosen) const {
  const Table<MemoryPart, CandidateId> parts(chosen);
  Table<NodeId, MemoryPart> part_of(problem_.node_count);
  Table<MemoryPart, NodeId> smallest;
  for (MemoryPart p : parts.ids()) {
    const std::vector<NodeId>& nodes = problem_.candidates[parts[p]].nodes;
    for (NodeId node : nodes) part_of[node] = p;
    smallest.push_back(*std::min_element(nodes.begin(), nodes.end()));
  }
  std::set<std::pair<MemoryPart, MemoryPart>> edges;
  for (const ProblemValue& value : problem_.values) {
    if (!value.writer.is_valid()) continue;
    const MemoryPart from = part_of[value.writer];
    for (NodeId reader : value.readers) {
      const MemoryPart to = part_of[reader];
      if (from != to) edges.emplace(from, to);
    }
  }
  Table<MemoryPart, size_t> waits(parts.size());
  for (const auto& [from, to] : edges) ++waits[to];
  using Ready = std::pair<NodeId, MemoryPart>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (MemoryPart p : parts.ids()) {
    if (waits[p] == 0) ready.emplace(smallest[p], p);
  }
  std::vector<CandidateId> order;
  while (!ready.empty()) {
    const MemoryPart p = ready.top().second;
    ready.pop();
    order.push_back(parts[p]);
    for (auto it = edges.lower_bound({p, MemoryPart(0)}); it != edges.end() && it->first == p; ++it) {
      if (--waits[it->second] == 0) ready.emplace(smallest[it->second], it->second);
    }
  }
  return order;
}

int64_t MemoryLimits::peak(InstanceId instance, const std::vector<CandidateId>& chosen) const {
  const Table<MemoryStep, CandidateId> order(execution_order(chosen));
  const MemoryStep end = order.next_id();
  Table<NodeId, MemoryStep> step_of_node(problem_.node_count);
  for (MemoryStep step : order.ids()) {
    for (NodeId node : problem_.candidates[order[step]].nodes) step_of_node[node] = step;
  }
  // Bytes that come and go at each step.
  Table<MemoryStep, int64_t> change(order.size() + 1);
  const auto hold = [&](ProblemValueId v, MemoryStep from, MemoryStep to) {
    const int64_t bytes = problem_.values[v].bytes;
    change[from] += bytes;
    if (to < end) change[advance(to, 1)] -= bytes;
  };
  std::map<ProblemValueId, std::pair<MemoryStep, MemoryStep>> read;
  for (MemoryStep step : order.ids()) {
    if (instance_of(order[step]) != instance) continue;
    const Candidate& candidate = problem_.candidates[order[step]];
    for (const ValueFormat& item : candidate.reads) {
      const NodeId writer = problem_.values[item.value].writer;
      const bool is_made_here = writer.is_valid() && instance_of(order[step_of_node[writer]]) == instance;
      if (is_made_here) continue;
      const auto [it, is_new] = read.try_emplace(item.value, step, step);
      it->second.second = step;
    }
    for (NodeId node : candidate.nodes) {
      for (ProblemValueId v : written_at_[node]) {
        const ProblemValue& value = problem_.values[v];
        MemoryStep last = step;
        for (NodeId reader : value.readers) last = std::max(last, step_of_node[reader]);
        if (value.is_output) last = end;
        hold(v, step, last);
      }
    }
  }
  for (const auto& [v, range] : read) hold(v, range.first, range.second);
  int64_t now = 0, most = 0;
  for (MemoryStep step : order.ids()) {
    now += change[step];
    most = std::max(most, now);
  }
  return constants(instance, chosen) + most;
}

bool MemoryLimits::fits(const std::vector<CandidateId>& chosen) const {
  for (InstanceId i : instances_.ids()) {
    if (peak(i, chosen) > instances_[i].bytes) return false;
  }
  return true;
}

}  // namespace collage::place
