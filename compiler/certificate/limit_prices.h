// SPDX-License-Identifier: Apache-2.0
// What the limits of a problem cost in a round that gives them prices (problem/proof.h).
#pragma once

#include "compiler/certificate/case_candidates.h"

namespace collage::certificate {

class LimitPrices {
 public:
  /// `rooms`: of constants, by instance, in the case. Or: a price that the round cannot have.
  static runtime::Result<LimitPrices> of(const place::Problem& problem, const Limits& limits,
                                         const place::Proof::Round& round,
                                         const Table<Limits::InstanceId, Wide>& rooms);

  /// The scaled cost of a candidate with the prices of what it adds to limits.
  Wide priced_cost(CandidateId candidate, int64_t scale) const;
  /// What all limits together pay back at most.
  Wide credit() const { return credit(rooms_); }
  /// Where constants have no more room than that either.
  Wide credit(const Table<Limits::InstanceId, Wide>& rooms) const;

 private:
  LimitPrices(const place::Problem& problem, const Limits& limits)
      : problem_(&problem), limits_(&limits), of_partition_(limits.counters(), 0), of_memory_(limits.instances(), 0) {}

  const place::Problem* problem_;
  const Limits* limits_;
  Table<Limits::CounterId, Wide> of_partition_;
  Table<Limits::InstanceId, Wide> of_memory_;  ///< of kPricedBytes
  Table<Limits::InstanceId, Wide> rooms_;
};

}  // namespace collage::certificate
