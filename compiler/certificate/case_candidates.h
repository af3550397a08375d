// SPDX-License-Identifier: Apache-2.0
// Which candidates the solutions of a case can have (problem/proof.h has the reasons), and whether there are solutions
// at all.
#pragma once

#include <vector>

#include "compiler/certificate/limits.h"

namespace collage::certificate {

struct CaseState {
  std::vector<CandidateId> left;  ///< ascending
  /// Some candidate works with so many bytes there.
  Table<Limits::InstanceId, int64_t> demanded;
};

class CaseCandidates {
 public:
  CaseCandidates(const place::Problem& problem, const Limits& limits);

  enum class Outcome {
    Open,
    Empty,    ///< no solution is in the case
    Decided,  ///< but for regions, `forced` is all that there can be
  };
  /// Takes away what no solution of the case can have.
  Outcome reduce(CaseState& state);

  /// After `reduce`: candidates that all solutions of the case have, ascending.
  const std::vector<CandidateId>& forced() const { return forced_; }
  /// Bytes of an instance that constants may take at most.
  Wide room_for_constants(const CaseState& state, Limits::InstanceId instance) const {
    return Wide{limits_.memory(instance)} - std::max<Wide>(most_working_[instance], state.demanded[instance]);
  }

 private:
  bool find_forced(const CaseState& state);
  bool add_up_forced(const CaseState& state);
  bool may_stay(const CaseState& state, CandidateId c) const;
  bool has_cycle();

  const place::Problem& problem_;
  const Limits& limits_;
  std::vector<CandidateId> forced_;
  Table<NodeId, CandidateId> forced_at_;
  Table<Limits::CounterId, int64_t> partitions_;
  Table<Limits::CounterId, int64_t> allowed_;  ///< by the forced candidates' own limits
  Table<OwnerId, bool> is_used_;
  std::vector<OwnerId> used_;
  Table<Limits::InstanceId, Table<ConstantId, bool>> resident_;
  Table<Limits::InstanceId, Wide> constant_bytes_;
  Table<Limits::InstanceId, Wide> most_working_;
};

}  // namespace collage::certificate
