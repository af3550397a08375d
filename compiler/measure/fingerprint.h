// SPDX-License-Identifier: Apache-2.0
// Whether a file has changed.
#pragma once

#include <cstdint>
#include <string>

namespace collage::measure {

/// FNV-1a over 64 bits of what the file holds. It only has to change when the file does; nothing is looked up by it.
uint64_t fingerprint(const std::string& path);

}  // namespace collage::measure
