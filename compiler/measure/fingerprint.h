// SPDX-License-Identifier: Apache-2.0
// Whether a file has changed.
#pragma once

#include <cstdint>
#include <string>

namespace collage::measure {

/// A hash of what the file holds; that of nothing if it cannot be read.
uint64_t fingerprint(const std::string& path);

}  // namespace collage::measure
