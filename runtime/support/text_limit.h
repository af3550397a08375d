// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace collage::support {

/// The largest text that is read: spans are 32 bits wide, and scanners count in int.
inline constexpr uint64_t kMostTextBytes = uint64_t{1} << 30;

}  // namespace collage::support
