// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/checksum.h"

#define XXH_INLINE_ALL  // no library to load
#include <xxhash.h>

namespace collage::runtime {

uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace collage::runtime
