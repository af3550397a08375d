// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/memory_limit.h"

namespace collage::place {

Problem with_memory(const Problem& problem, const std::vector<MemoryLimit>& limits) {
  Problem limited = problem;
  for (const MemoryLimit& limit : limits) {
    for (Owner& owner : limited.owners) {
      if (owner.instance == limit.instance) owner.memory = static_cast<int64_t>(limit.bytes);
    }
  }
  return limited;
}

}  // namespace collage::place
