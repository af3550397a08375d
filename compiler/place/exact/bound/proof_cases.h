// SPDX-License-Identifier: Apache-2.0
// The cases of a proof (problem/proof.h), as the prover sees them: which candidates are left, which are forced, and
// what limits cost at a price. The judge in compiler/certificate has its own.
#pragma once

#include <vector>

#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/proof.h"
#include "compiler/place/problem/sure_bytes.h"

namespace collage::place {

struct CaseOfProof {
  std::vector<CandidateId> left;                           ///< ascending
  Table<MemoryLimits::InstanceId, int64_t> demanded_work;  ///< some candidate works with so many bytes there
};

class ProofCases {
 public:
  explicit ProofCases(const Problem& problem);

  enum class Outcome { Open, Empty, Decided };
  /// Takes away what no solution in the case can have.
  Outcome reduce(CaseOfProof& now);
  /// After `reduce`.
  bool is_forced(CandidateId c) const { return forced_at_[problem_.candidates[c].nodes.front()] == c; }
  /// After `reduce` that decided: what the candidates cost at least; `Cost::max()`: they are no solution.
  Cost decided_cost() const;

  const Problem& problem() const { return problem_; }
  const MemoryLimits& memory() const { return memory_; }
  int64_t working_bytes(CandidateId c) const { return working_[c]; }
  /// None: no candidate of the owner counts in a memory.
  MemoryLimits::InstanceId instance_of(OwnerId owner) const { return instance_[owner]; }

  /// A limit that can have a price, by some owner of it.
  struct Limit {
    Proof::LimitPrice::Of of;
    OwnerId owner;
  };
  using LimitId = Id<Limit>;
  const Table<LimitId, Limit>& limits() const { return limits_; }
  /// The owner that `limits` has for the limit that a price is of; nothing: there is no such limit.
  std::optional<OwnerId> owner_of_limit(const Proof::LimitPrice& price) const;
  /// Units that a candidate surely adds.
  int64_t units(LimitId limit, CandidateId c) const;
  /// How many there may be. After `reduce`.
  int64_t allowed_units(LimitId limit) const;

  /// What a candidate costs more for what it adds to limits.
  int64_t surcharge(const std::vector<Proof::LimitPrice>& prices, CandidateId c) const;
  /// What all limits together give back at most. After `reduce`.
  Cost credit(const std::vector<Proof::LimitPrice>& prices) const;

 private:
  using InstanceId = MemoryLimits::InstanceId;
  using BackendId = Id<struct ProofBackendTag>;

  void number_backends();
  bool force(const CaseOfProof& now);
  bool count_forced(const CaseOfProof& now);
  bool fits_beside_forced(CandidateId c) const;
  bool forced_run_in_some_order() const;
  bool conflict(OwnerId a, OwnerId b) const;
  LimitId limit_of(const Proof::LimitPrice& price) const;

  const Problem& problem_;
  MemoryLimits memory_;
  Table<OwnerId, BackendId> backend_;
  Table<BackendId, int64_t> max_partitions_;  // the largest of its owners
  Table<OwnerId, InstanceId> instance_;
  Table<CandidateId, int64_t> working_;
  Table<CandidateId, SureBytes> sure_;
  Table<LimitId, Limit> limits_;
  // State of the case that was reduced last.
  Table<NodeId, CandidateId> forced_at_;
  std::vector<CandidateId> forced_;
  Table<BackendId, int64_t> partitions_;
  Table<BackendId, int64_t> strictest_;
  std::vector<OwnerId> used_;
  Table<InstanceId, std::vector<ConstantId>> resident_;  // ascending
  Table<InstanceId, int64_t> resident_bytes_;
  Table<InstanceId, int64_t> most_work_;
};

}  // namespace collage::place
