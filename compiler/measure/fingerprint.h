// SPDX-License-Identifier: Apache-2.0
// Whether a file has changed.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/support/hash.h"

namespace collage::measure {

/// The hash of what has been hashed to `hash` so far, followed by what the file holds; nothing if it cannot be read.
uint64_t fingerprint(const std::string& path, uint64_t hash = support::kHashOfNothing);

}  // namespace collage::measure
