// SPDX-License-Identifier: Apache-2.0
// What a tensor takes of memory that it shares with others: an arena, a region of constants, the memory of a device.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/core/checked_size.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Every tensor starts at an aligned address. An empty one has an address of its own, too: a null address means an
/// absent operand.
inline size_t room_for(size_t bytes) {
  return align_up(std::max<size_t>(bytes, 1), kTensorAlignment);
}

}  // namespace collage::runtime
