// SPDX-License-Identifier: Apache-2.0
// What a device instance has, as the user or its rule file says. What candidates need of it: memory_limits.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

struct MemoryLimit {
  std::string instance;  ///< `npu[0]`
  size_t bytes = 0;
};

/// The problem in which owners have the memory that the limits leave them.
Problem with_memory(const Problem& problem, const std::vector<MemoryLimit>& limits);

}  // namespace collage::place
