// SPDX-License-Identifier: Apache-2.0
// How far a cover is from keeping the limits on partitions, conflicts and memory (problem.h), quick enough for searches
// that ask it of many thousands. Memory of candidates on several instances is left to `evaluate`.
#pragma once

#include <vector>

#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

class QuickLimits {
 public:
  /// The problem must stay.
  explicit QuickLimits(const Problem& problem);

  /// The excess over all limits, as a sum of fractions of each; 0: none is known. For memory it counts constants and
  /// the largest step, and what `admits` has shown this count to miss.
  double excess(const std::vector<CandidateId>& chosen);
  /// Whether all limits are kept.
  bool admits(const std::vector<CandidateId>& chosen);

 private:
  using BackendId = Id<struct LimitedBackendTag>;
  using InstanceId = MemoryLimits::InstanceId;

  double excess_of_owners(const std::vector<CandidateId>& chosen);
  double excess_of_memory(const std::vector<CandidateId>& chosen);
  void count_memory(const std::vector<CandidateId>& chosen);

  const Problem& problem_;
  MemoryLimits memory_;
  bool memory_can_bind_;
  bool has_conflicts_ = false;
  Table<OwnerId, BackendId> counted_;  ///< none: it states no limit
  Table<BackendId, int> most_;
  Table<InstanceId, int64_t> missed_;  ///< by constants and the largest step, at most so far
  // State of one call.
  Table<BackendId, int> count_;
  Table<OwnerId, bool> is_used_;
  Table<ConstantId, InstanceId> resident_;
  Table<InstanceId, int64_t> constants_;
  Table<InstanceId, int64_t> largest_step_;
  std::vector<std::pair<ConstantId, InstanceId>> copies_;  ///< of constants that are resident elsewhere, too
};

}  // namespace collage::place
