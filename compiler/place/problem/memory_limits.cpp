// SPDX-License-Identifier: Apache-2.0
// See memory_limits.h.
#include "compiler/place/problem/memory_limits.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace collage::place {
namespace {

/// A candidate by its place in the execution, and a node by its own.
using MemoryStep = Id<struct MemoryStepTag>;
using MemoryTick = Id<struct MemoryTickTag>;
/// A chosen candidate by its place among the chosen ones.
using MemoryPart = Id<struct MemoryPartTag>;

/// The last of the nodes, which ascend, that reads the value; invalid where none does.
NodeId last_reader(const ProblemValue& value, const std::vector<NodeId>& nodes) {
  NodeId last;
  for (NodeId reader : value.readers) {
    if (std::binary_search(nodes.begin(), nodes.end(), reader)) last = std::max(last, reader);
  }
  return last;
}

/// The values of a list, which is sorted by them, each once.
std::vector<ProblemValueId> distinct_values(const std::vector<ValueFormat>& list) {
  std::vector<ProblemValueId> values;
  for (const ValueFormat& item : list) {
    if (values.empty() || values.back() != item.value) values.push_back(item.value);
  }
  return values;
}

}  // namespace

MemoryLimits::MemoryLimits(const Problem& problem)
    : problem_(problem), instance_of_owner_(problem.owners.size()), working_(problem.candidates.size(), 0) {
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
  for (CandidateId c : problem.candidates.ids()) working_[c] = most_held(c);
}

MemoryLimits::InstanceId MemoryLimits::instance_of(CandidateId candidate) const {
  return instance_of_owner_[problem_.candidates[candidate].owner];
}

std::vector<MemoryLimits::Held> MemoryLimits::held_values(CandidateId candidate) const {
  const Candidate& of = problem_.candidates[candidate];
  const auto place = [&](NodeId node) {
    return static_cast<size_t>(std::lower_bound(of.nodes.begin(), of.nodes.end(), node) - of.nodes.begin());
  };
  std::vector<Held> held;
  for (ProblemValueId v : distinct_values(of.reads)) {
    held.push_back({v, 0, place(last_reader(problem_.values[v], of.nodes))});
  }
  for (ProblemValueId v : distinct_values(of.writes)) {
    held.push_back({v, place(problem_.values[v].writer), of.nodes.size() - 1});
  }
  for (ProblemValueId v : of.kept) {
    const ProblemValue& value = problem_.values[v];
    held.push_back({v, place(value.writer), place(std::max(value.writer, last_reader(value, of.nodes)))});
  }
  return held;
}

int64_t MemoryLimits::most_held(CandidateId candidate) const {
  std::vector<int64_t> change(problem_.candidates[candidate].nodes.size() + 1, 0);
  for (const Held& held : held_values(candidate)) {
    change[held.first] += problem_.values[held.value].bytes;
    change[held.last + 1] -= problem_.values[held.value].bytes;
  }
  int64_t now = 0, most = 0;
  for (int64_t bytes : change) {
    now += bytes;
    most = std::max(most, now);
  }
  return most;
}

std::vector<ProblemValueId> MemoryLimits::held_at(CandidateId candidate, NodeId node) const {
  const std::vector<NodeId>& nodes = problem_.candidates[candidate].nodes;
  const auto at = static_cast<size_t>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
  std::vector<ProblemValueId> values;
  for (const Held& held : held_values(candidate)) {
    if (held.first <= at && at <= held.last) values.push_back(held.value);
  }
  return values;
}

bool MemoryLimits::can_bind() const {
  for (InstanceId i : instances_.ids()) {
    std::set<ConstantId> constants;
    std::set<ProblemValueId> values;
    for (CandidateId c : problem_.candidates.ids()) {
      if (instance_of(c) != i) continue;
      const Candidate& candidate = problem_.candidates[c];
      constants.insert(candidate.constants.begin(), candidate.constants.end());
      for (const auto* list : {&candidate.reads, &candidate.writes}) {
        for (const ValueFormat& item : *list) values.insert(item.value);
      }
      values.insert(candidate.kept.begin(), candidate.kept.end());
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

std::vector<MemoryLimits::AtNode> MemoryLimits::profile(InstanceId instance,
                                                        const std::vector<CandidateId>& chosen) const {
  const Table<MemoryStep, CandidateId> order(execution_order(chosen));
  Table<NodeId, MemoryStep> step_of(problem_.node_count);
  Table<NodeId, MemoryTick> tick_of(problem_.node_count);
  Table<MemoryStep, MemoryTick> begin_of;
  MemoryTick end = 0;
  std::vector<AtNode> profile;
  for (MemoryStep step : order.ids()) {
    begin_of.push_back(end);
    for (NodeId node : problem_.candidates[order[step]].nodes) {
      step_of[node] = step;
      tick_of[node] = end;
      profile.push_back({node, 0});
      end = advance(end, 1);
    }
  }
  const auto is_there = [&](MemoryStep step) { return step.is_valid() && instance_of(order[step]) == instance; };
  // Bytes that come and go at each tick.
  Table<MemoryTick, int64_t> change(end.slot() + 1, 0);
  const auto hold = [&](ProblemValueId v, MemoryTick from, MemoryTick to) {
    const int64_t bytes = problem_.values[v].bytes;
    change[from] += bytes;
    change[advance(to, 1)] -= bytes;
  };
  const auto last_of_written = [&](const ProblemValue& value) {
    MemoryTick last = tick_of[value.writer];
    MemoryStep elsewhere;
    for (NodeId reader : value.readers) {
      const MemoryStep step = step_of[reader];
      if (is_there(step)) {
        last = std::max(last, tick_of[reader]);
      } else if (step.is_valid()) {
        elsewhere = elsewhere.is_valid() ? std::min(elsewhere, step) : step;
      }
    }
    if (elsewhere.is_valid()) return std::max(last, advance(begin_of[elsewhere], -1));
    return value.is_output ? advance(end, -1) : last;
  };
  std::map<ProblemValueId, std::pair<MemoryTick, MemoryTick>> read;
  for (MemoryStep step : order.ids()) {
    if (!is_there(step)) continue;
    const Candidate& candidate = problem_.candidates[order[step]];
    for (ProblemValueId v : distinct_values(candidate.reads)) {
      const ProblemValue& value = problem_.values[v];
      if (value.writer.is_valid() && is_there(step_of[value.writer])) continue;
      const NodeId last = last_reader(value, candidate.nodes);
      const MemoryTick to = last.is_valid() ? tick_of[last] : begin_of[step];
      const auto [it, is_new] = read.try_emplace(v, begin_of[step], to);
      it->second.second = to;
    }
    for (ProblemValueId v : distinct_values(candidate.writes)) {
      hold(v, tick_of[problem_.values[v].writer], last_of_written(problem_.values[v]));
    }
    for (ProblemValueId v : candidate.kept) {
      const ProblemValue& value = problem_.values[v];
      hold(v, tick_of[value.writer], tick_of[std::max(value.writer, last_reader(value, candidate.nodes))]);
    }
  }
  for (const auto& [v, range] : read) hold(v, range.first, range.second);
  int64_t now = constants(instance, chosen);
  for (MemoryTick tick : support::first_ids<MemoryTick>(end.slot())) {
    now += change[tick];
    profile[tick.slot()].bytes = now;
  }
  return profile;
}

int64_t MemoryLimits::peak(InstanceId instance, const std::vector<CandidateId>& chosen) const {
  int64_t most = constants(instance, chosen);
  for (const AtNode& at : profile(instance, chosen)) most = std::max(most, at.bytes);
  return most;
}

bool MemoryLimits::fits(const std::vector<CandidateId>& chosen) const {
  for (InstanceId i : instances_.ids()) {
    if (peak(i, chosen) > instances_[i].bytes) return false;
  }
  return true;
}

}  // namespace collage::place
