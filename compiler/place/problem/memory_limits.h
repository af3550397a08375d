// SPDX-License-Identifier: Apache-2.0
// The memory of device instances, as the placement problem states it (problem.h): what chosen candidates need, and
// what they need at least while others are still to be chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

class MemoryLimits {
 public:
  explicit MemoryLimits(const Problem& problem);

  struct Instance {
    std::string name;
    int64_t bytes = 0;
  };
  using InstanceId = Id<Instance>;
  /// The instances with a limit.
  const Table<InstanceId, Instance>& instances() const { return instances_; }
  /// Where a candidate runs; none: it has no limit.
  InstanceId instance_of(CandidateId candidate) const;

  /// Some choice of candidates could need more than there is.
  bool can_bind() const;
  /// What an instance holds while a node runs.
  struct AtNode {
    NodeId node;
    int64_t bytes = 0;
  };
  /// All nodes of a solution in the order in which they run.
  std::vector<AtNode> profile(InstanceId instance, const std::vector<CandidateId>& chosen) const;
  /// Bytes that an instance needs for all candidates of a solution, at its worst step.
  int64_t peak(InstanceId instance, const std::vector<CandidateId>& chosen) const;
  /// Whether a whole solution fits everywhere.
  bool fits(const std::vector<CandidateId>& chosen) const;
  /// Whether candidates could be part of a solution that fits: constants and the worst step alone.
  bool could_fit(const std::vector<CandidateId>& chosen) const;
  /// The most that a candidate holds while one of its nodes runs, beside its constants, of what it reads and makes.
  int64_t working_bytes(CandidateId candidate) const { return working_[candidate]; }
  /// The values among these that the candidate holds while its node runs; each once.
  std::vector<ProblemValueId> held_at(CandidateId candidate, NodeId node) const;

 private:
  /// From the first to the last of a candidate's nodes, by their places in it.
  struct Held {
    ProblemValueId value;
    size_t first = 0;
    size_t last = 0;
  };
  std::vector<Held> held_values(CandidateId candidate) const;
  int64_t most_held(CandidateId candidate) const;
  int64_t constants(InstanceId instance, const std::vector<CandidateId>& chosen) const;
  std::vector<CandidateId> execution_order(const std::vector<CandidateId>& chosen) const;

  const Problem& problem_;
  Table<InstanceId, Instance> instances_;
  Table<OwnerId, InstanceId> instance_of_owner_;
  Table<CandidateId, int64_t> working_;
};

}  // namespace collage::place
