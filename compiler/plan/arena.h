// SPDX-License-Identifier: Apache-2.0
// Places for buffers in one arena: buffers that live at the same time never share a byte.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/plan/liveness.h"

namespace collage::plan {

struct ArenaItem {
  size_t bytes = 0;
  LiveRange live;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  ///< by item, multiples of kTensorAlignment
  size_t bytes = 0;             ///< of the arena
};

/// Greedy by size: the largest item first, each at the smallest gap that holds it between the items already placed that
/// live at its time, else after them (Pisarchyk & Lee, arXiv:2001.03288, section 5.2). Deterministic.
ArenaLayout place_in_arena(const std::vector<ArenaItem>& items);

/// The most bytes, each item rounded up, that live at one tick: no arena is smaller.
size_t least_arena_bytes(const std::vector<ArenaItem>& items);

}  // namespace collage::plan
