// SPDX-License-Identifier: Apache-2.0
// What schedules know of the machine. Block sizes follow from its registers, tasks from its threads and private caches.
#pragma once

#include <cstdint>

namespace collage::codegen {

/// Schedules count in numbers of four bytes: for wider ones there are fewer lanes, and the cache is smaller.
struct Machine {
  int lanes = 16;                           ///< of a vector
  int registers = 32;                       ///< vector registers
  int threads = 1;                          ///< that share a kernel
  int64_t level2_cache = int64_t{2} << 20;  ///< bytes of one core's

  /// Bytes that stay in the second-level cache beside what else passes through it.
  int64_t near_bytes() const { return level2_cache / 2; }
};

}  // namespace collage::codegen
