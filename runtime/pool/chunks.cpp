// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/chunks.h"

#include <algorithm>

namespace collage::runtime {
namespace {

/// More of them divide the work more evenly; each costs a call of the kernel.
constexpr int64_t kChunksPerPart = 4;

/// Where part `index` of `count` nearly equal parts of [0, extent) begins; the first ones are longer by one.
int64_t part_begin(int64_t extent, int64_t count, int64_t index) {
  return index * (extent / count) + std::min(index, extent % count);
}

}  // namespace

void Chunks::restart(int64_t extent, int64_t grain, int parts) {
  extent_ = extent;
  count_ = std::max<int64_t>(std::min(parts * kChunksPerPart, extent / std::max<int64_t>(grain, 1)), parts);
  parts_ = static_cast<size_t>(parts);
  for (int part = 0; part < parts; ++part) {
    Share& share = shares_[static_cast<size_t>(part)];
    share.next.store(part_begin(count_, parts, part), std::memory_order_relaxed);
    share.end = part_begin(count_, parts, part + 1);
  }
}

std::optional<Range> Chunks::take(int part) {
  for (size_t i = 0; i < parts_; ++i) {
    Share& share = shares_[(static_cast<size_t>(part) + i) % parts_];
    if (share.next.load(std::memory_order_relaxed) >= share.end) continue;
    int64_t index = share.next.fetch_add(1, std::memory_order_relaxed);
    if (index < share.end) return chunk(index);
  }
  return std::nullopt;
}

Range Chunks::chunk(int64_t index) const {
  return {part_begin(extent_, count_, index), part_begin(extent_, count_, index + 1)};
}

}  // namespace collage::runtime
