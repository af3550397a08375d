// SPDX-License-Identifier: Apache-2.0
// How many random cases a test tries: the usual number, or COLLAGE_RANDOM_ROUNDS percent of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace collage::testing {

inline uint64_t rounds(uint64_t usual) {
  const char* percent = std::getenv("COLLAGE_RANDOM_ROUNDS");
  return percent == nullptr ? usual : std::max<uint64_t>(1, usual * std::strtoull(percent, nullptr, 10) / 100);
}

}  // namespace collage::testing
