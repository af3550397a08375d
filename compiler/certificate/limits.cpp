// SPDX-License-Identifier: Apache-2.0
// See limits.h.
#include "compiler/certificate/limits.h"

#include <algorithm>
#include <map>

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

void Limits::find_working_bytes() {
  Table<NodeId, Wide> made(problem_.node_count, 0);
  for (const place::ProblemValue& value : problem_.values) {
    if (value.writer.is_valid()) made[value.writer] += value.bytes;
  }
  for (CandidateId c : problem_.candidates.ids()) {
    const Candidate& candidate = problem_.candidates[c];
    for (NodeId node : candidate.nodes) working_[c] += made[node];
    std::vector<ProblemValueId> read;
    for (const place::ValueFormat& item : candidate.reads) read.push_back(item.value);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (ProblemValueId v : read) working_[c] += problem_.values[v].bytes;
  }
}

void Limits::find_sure_bytes() {
  // Of an instance and a constant: the nodes that all its candidates with the constant have in common.
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
