// SPDX-License-Identifier: Apache-2.0
// Bytes of constants that a candidate surely adds to the memory where it runs: of those constants that no second chosen
// candidate could hold there, because all candidates with the constant have a node in common. Candidates without a cost
// are never chosen and hold nothing.
#pragma once

#include <utility>
#include <vector>

#include "compiler/place/problem/memory_limits.h"

namespace collage::place {

struct SureBytes {
  int64_t all = 0;
  /// The same by the first node that all candidates with the constant have in common.
  std::vector<std::pair<NodeId, int64_t>> at{};
};

/// Nothing for candidates that run on no limited instance.
Table<CandidateId, SureBytes> sure_bytes(const Problem& problem, const MemoryLimits& memory);

}  // namespace collage::place
