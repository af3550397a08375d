// SPDX-License-Identifier: Apache-2.0
// See limits.h.
#include "compiler/certificate/limits.h"

#include <algorithm>
#include <map>
#include <set>

namespace collage::certificate {

using place::Candidate;
using place::Owner;

Limits::Limits(const place::Problem& problem)
    : problem_(problem),
      counter_of_owner_(problem.owners.size()),
      instance_of_owner_(problem.owners.size()),
      conflicts_(problem.owners.size(), Table<OwnerId, bool>(problem.owners.size(), false)),
      working_(problem.candidates.size(), 0),
      sure_(problem.candidates.size(), 0) {
  std::map<std::string, CounterId> counters;
  std::map<std::string, InstanceId> instances;
  for (const Owner& owner : problem.owners) {
    if (owner.max_partitions) {
      const auto [it, is_new] = counters.emplace(owner.backend, most_partitions_.next_id());
      if (is_new) most_partitions_.push_back(0);
      most_partitions_[it->second] = std::max<int64_t>(most_partitions_[it->second], *owner.max_partitions);
    }
    if (owner.memory) {
      const auto [it, is_new] = instances.emplace(owner.instance, memory_.next_id());
      if (is_new) memory_.push_back(*owner.memory);
      memory_[it->second] = std::min(memory_[it->second], *owner.memory);
    }
  }
  for (OwnerId o : problem.owners.ids()) {
    const Owner& owner = problem.owners[o];
    if (owner.max_partitions) counter_of_owner_[o] = counters.at(owner.backend);
    if (const auto it = instances.find(owner.instance); it != instances.end()) instance_of_owner_[o] = it->second;
    for (OwnerId other : owner.conflicts) conflicts_[o][other] = conflicts_[other][o] = true;
  }
  find_working_bytes();
  find_sure_bytes();
}

/// Node by node: what a candidate reads is held from its first node on, to the last one that reads it; what leaves it,
/// from its writer on; what it keeps inside, from its writer to the last reader.
void Limits::find_working_bytes() {
  for (CandidateId c : problem_.candidates.ids()) {
    const Candidate& candidate = problem_.candidates[c];
    const auto has = [&](NodeId node) {
      return std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node);
    };
    std::map<NodeId, Wide> begins, ends;  // at and after a node
    const auto hold = [&](ProblemValueId v, NodeId first, NodeId last) {
      begins[first] += problem_.values[v].bytes;
      ends[last] += problem_.values[v].bytes;
    };
    const auto last_reader = [&](ProblemValueId v, NodeId otherwise) {
      NodeId last = otherwise;
      for (NodeId reader : problem_.values[v].readers) {
        if (has(reader)) last = std::max(last, reader);
      }
      return last;
    };
    std::set<ProblemValueId> read;
    for (const place::ValueFormat& item : candidate.reads) read.insert(item.value);
    const NodeId first_node = candidate.nodes.front(), last_node = candidate.nodes.back();
    for (ProblemValueId v : read) hold(v, first_node, last_reader(v, first_node));
    for (const place::ValueFormat& item : candidate.writes)
      hold(item.value, problem_.values[item.value].writer, last_node);
    for (ProblemValueId v : candidate.kept) {
      const NodeId writer = problem_.values[v].writer;
      hold(v, writer, last_reader(v, writer));
    }
    Wide now = 0;
    for (NodeId node : candidate.nodes) {
      now += begins[node];
      working_[c] = std::max(working_[c], now);
      now -= ends[node];
    }
  }
}

void Limits::find_sure_bytes() {
  // By instance and constant: the nodes that all its candidates with the constant have in common.
  std::map<std::pair<InstanceId, ConstantId>, std::optional<std::vector<NodeId>>> common;
  const auto for_each = [&](auto visit) {
    for (CandidateId c : problem_.candidates.ids()) {
      const Candidate& candidate = problem_.candidates[c];
      const InstanceId instance = instance_of(c);
      if (!instance.is_valid() || candidate.cost >= place::Cost::max()) continue;
      for (ConstantId constant : candidate.constants) visit(c, common[{instance, constant}], constant);
    }
  };
  for_each([&](CandidateId c, std::optional<std::vector<NodeId>>& nodes, ConstantId) {
    const std::vector<NodeId>& own = problem_.candidates[c].nodes;
    if (!nodes) {
      nodes = own;
    } else {
      std::erase_if(*nodes, [&](NodeId node) { return !std::binary_search(own.begin(), own.end(), node); });
    }
  });
  for_each([&](CandidateId c, const std::optional<std::vector<NodeId>>& nodes, ConstantId constant) {
    if (!nodes->empty()) sure_[c] = std::min(kMostSureBytes, sure_[c] + problem_.constant_bytes[constant]);
  });
}

}  // namespace collage::certificate
