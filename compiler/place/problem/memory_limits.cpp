// SPDX-License-Identifier: Apache-2.0
// See memory_limits.h.
#include "compiler/place/problem/memory_limits.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace collage::place {

MemoryLimits::MemoryLimits(const Problem& problem)
    : problem_(problem),
      instance_of_owner_(problem.owners.size(), -1),
      written_at_(static_cast<size_t>(problem.node_count)) {
  std::map<std::string, int> index;
  for (const Owner& owner : problem.owners) {
    if (!owner.memory) continue;
    const auto [it, is_new] = index.emplace(owner.instance, static_cast<int>(instances_.size()));
    if (is_new) instances_.push_back({owner.instance, *owner.memory});
    int64_t& bytes = instances_[static_cast<size_t>(it->second)].bytes;
    bytes = std::min(bytes, *owner.memory);
  }
  for (size_t o = 0; o < problem.owners.size(); ++o) {
    const auto it = index.find(problem.owners[o].instance);
    if (it != index.end()) instance_of_owner_[o] = it->second;
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    if (problem.values[v].writer >= 0) {
      written_at_[static_cast<size_t>(problem.values[v].writer)].push_back(static_cast<int>(v));
    }
  }
}

int MemoryLimits::instance_of(int candidate) const {
  return instance_of_owner_[static_cast<size_t>(problem_.candidates[static_cast<size_t>(candidate)].owner)];
}

int64_t MemoryLimits::working_bytes(int candidate) const {
  const Candidate& of = problem_.candidates[static_cast<size_t>(candidate)];
  int64_t bytes = 0;
  for (int node : of.nodes) {
    for (int v : written_at_[static_cast<size_t>(node)]) bytes += problem_.values[static_cast<size_t>(v)].bytes;
  }
  int last = -1;
  for (const ValueFormat& read : of.reads) {
    if (read.value != last) bytes += problem_.values[static_cast<size_t>(read.value)].bytes;
    last = read.value;
  }
  return bytes;
}

bool MemoryLimits::can_bind() const {
  for (size_t i = 0; i < instances_.size(); ++i) {
    std::set<int> constants, values;
    for (size_t c = 0; c < problem_.candidates.size(); ++c) {
      if (instance_of(static_cast<int>(c)) != static_cast<int>(i)) continue;
      const Candidate& candidate = problem_.candidates[c];
      constants.insert(candidate.constants.begin(), candidate.constants.end());
      for (const ValueFormat& read : candidate.reads) values.insert(read.value);
      for (int node : candidate.nodes) {
        const std::vector<int>& written = written_at_[static_cast<size_t>(node)];
        values.insert(written.begin(), written.end());
      }
    }
    int64_t most = 0;
    for (int k : constants) most += problem_.constant_bytes[static_cast<size_t>(k)];
    for (int v : values) most += problem_.values[static_cast<size_t>(v)].bytes;
    if (most > instances_[i].bytes) return true;
  }
  return false;
}

int64_t MemoryLimits::constants(int instance, const std::vector<int>& chosen) const {
  std::set<int> resident;
  for (int c : chosen) {
    if (instance_of(c) != instance) continue;
    const std::vector<int>& own = problem_.candidates[static_cast<size_t>(c)].constants;
    resident.insert(own.begin(), own.end());
  }
  int64_t bytes = 0;
  for (int k : resident) bytes += problem_.constant_bytes[static_cast<size_t>(k)];
  return bytes;
}

bool MemoryLimits::could_fit(const std::vector<int>& chosen) const {
  for (size_t i = 0; i < instances_.size(); ++i) {
    int64_t worst = 0;
    for (int c : chosen) {
      if (instance_of(c) == static_cast<int>(i)) worst = std::max(worst, working_bytes(c));
    }
    if (constants(static_cast<int>(i), chosen) + worst > instances_[i].bytes) return false;
  }
  return true;
}

/// The topological order of the quotient by smallest node: indices into `chosen`.
std::vector<int> MemoryLimits::execution_order(const std::vector<int>& chosen) const {
  std::vector<int> partition_of(static_cast<size_t>(problem_.node_count), -1);
  std::vector<int> smallest;
  for (size_t p = 0; p < chosen.size(); ++p) {
    const std::vector<int>& nodes = problem_.candidates[static_cast<size_t>(chosen[p])].nodes;
    for (int node : nodes) partition_of[static_cast<size_t>(node)] = static_cast<int>(p);
    smallest.push_back(*std::min_element(nodes.begin(), nodes.end()));
  }
  std::set<std::pair<int, int>> edges;
  for (const ProblemValue& value : problem_.values) {
    if (value.writer < 0) continue;
    const int from = partition_of[static_cast<size_t>(value.writer)];
    for (int reader : value.readers) {
      const int to = partition_of[static_cast<size_t>(reader)];
      if (from != to) edges.emplace(from, to);
    }
  }
  std::vector<int> waits(chosen.size(), 0);
  for (const auto& [from, to] : edges) ++waits[static_cast<size_t>(to)];
  using Ready = std::pair<int, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (size_t p = 0; p < chosen.size(); ++p) {
    if (waits[p] == 0) ready.emplace(smallest[p], static_cast<int>(p));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int p = ready.top().second;
    ready.pop();
    order.push_back(p);
    for (auto it = edges.lower_bound({p, 0}); it != edges.end() && it->first == p; ++it) {
      if (--waits[static_cast<size_t>(it->second)] == 0) {
        ready.emplace(smallest[static_cast<size_t>(it->second)], it->second);
      }
    }
  }
  return order;
}

int64_t MemoryLimits::peak(int instance, const std::vector<int>& chosen) const {
  const std::vector<int> order = execution_order(chosen);
  const int steps = static_cast<int>(order.size());
  std::vector<int> step_of_node(static_cast<size_t>(problem_.node_count), -1);
  for (int step = 0; step < steps; ++step) {
    const int c = chosen[static_cast<size_t>(order[static_cast<size_t>(step)])];
    for (int node : problem_.candidates[static_cast<size_t>(c)].nodes) {
      step_of_node[static_cast<size_t>(node)] = step;
    }
  }
  // Bytes that come and go at each step.
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  const auto hold = [&](int v, int from, int to) {
    const int64_t bytes = problem_.values[static_cast<size_t>(v)].bytes;
    change[static_cast<size_t>(from)] += bytes;
    if (to + 1 < static_cast<int>(change.size())) change[static_cast<size_t>(to) + 1] -= bytes;
  };
  std::map<int, std::pair<int, int>> read;
  for (int step = 0; step < steps; ++step) {
    const int c = chosen[static_cast<size_t>(order[static_cast<size_t>(step)])];
    if (instance_of(c) != instance) continue;
    const Candidate& candidate = problem_.candidates[static_cast<size_t>(c)];
    for (const ValueFormat& item : candidate.reads) {
      const int writer = problem_.values[static_cast<size_t>(item.value)].writer;
      const bool is_made_here =
          writer >= 0 &&
          instance_of(
              chosen[static_cast<size_t>(order[static_cast<size_t>(step_of_node[static_cast<size_t>(writer)])])]) ==
              instance;
      if (is_made_here) continue;
      const auto [it, is_new] = read.try_emplace(item.value, step, step);
      it->second.second = step;
    }
    for (int node : candidate.nodes) {
      for (int v : written_at_[static_cast<size_t>(node)]) {
        const ProblemValue& value = problem_.values[static_cast<size_t>(v)];
        int last = step;
        for (int reader : value.readers) last = std::max(last, step_of_node[static_cast<size_t>(reader)]);
        if (value.is_output) last = steps;
        hold(v, step, last);
      }
    }
  }
  for (const auto& [v, range] : read) hold(v, range.first, range.second);
  int64_t now = 0, most = 0;
  for (int step = 0; step < steps; ++step) {
    now += change[static_cast<size_t>(step)];
    most = std::max(most, now);
  }
  return constants(instance, chosen) + most;
}

bool MemoryLimits::fits(const std::vector<int>& chosen) const {
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (peak(static_cast<int>(i), chosen) > instances_[i].bytes) return false;
  }
  return true;
}

}  // namespace collage::place
