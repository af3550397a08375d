// SPDX-License-Identifier: Apache-2.0
// What all memories together lack for a problem, whatever is placed where: a bound from below that takes no search.
//
//     constants of 48 KiB, a node that works with 0.5 KiB, three memories of 12 KiB   =>   12.5 KiB are missing
//     a node that needs 6 KiB with its constants, memories of 4 KiB                   =>   2 KiB are missing for it
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/place/problem/memory_limit.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

struct Shortage {
  size_t constants = 0;               ///< of the whole problem, or of the most sparing candidate of `node`
  size_t working = 0;                 ///< what the node that works with most does; of `node`: the largest value
  NodeId node;                        ///< one that fits into no memory; invalid: together they are too small
  std::vector<MemoryLimit> memories;  ///< of all instances in their order

  size_t missing() const;
};

/// Nothing where some instance has no limit, or where no such bound shows that memory is missing.
std::optional<Shortage> shortage_of(const Problem& problem, const std::vector<MemoryLimit>& limits);

}  // namespace collage::place
