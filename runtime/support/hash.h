// SPDX-License-Identifier: Apache-2.0
// FNV-1a over 64 bits: names and checksums of what lies in caches and databases. Files hold its values, so it never
// changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace collage::support {

inline constexpr uint64_t kHashOfNothing = 0xcbf29ce484222325u;

/// The hash of what has been hashed to `hash` so far, followed by these bytes.
constexpr uint64_t hash_bytes(std::string_view bytes, uint64_t hash = kHashOfNothing) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace collage::support
