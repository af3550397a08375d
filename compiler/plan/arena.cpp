// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/arena.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/core/room.h"

namespace collage::plan {
namespace {

size_t rounded(const ArenaItem& item) {
  return runtime::room_for(item.bytes);
}

struct Placed {
  size_t begin = 0;
  size_t end = 0;
  size_t item = 0;
};

size_t best_offset(const std::vector<Placed>& placed, const std::vector<ArenaItem>& items, size_t item, size_t size) {
  size_t best = SIZE_MAX;
  size_t best_gap = SIZE_MAX;
  size_t free_from = 0;
  for (const Placed& other : placed) {  // by begin
    if (!items[other.item].live.overlaps(items[item].live)) continue;
    if (other.begin > free_from) {
      size_t gap = other.begin - free_from;
      if (gap >= size && gap < best_gap) {
        best = free_from;
        best_gap = gap;
      }
    }
    free_from = std::max(free_from, other.end);
  }
  return best != SIZE_MAX ? best : free_from;
}

}  // namespace

ArenaLayout place_in_arena(const std::vector<ArenaItem>& items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (rounded(items[a]) != rounded(items[b])) return rounded(items[a]) > rounded(items[b]);
    return items[a].live.first < items[b].live.first;
  });
  ArenaLayout layout;
  layout.offsets.resize(items.size(), 0);
  std::vector<Placed> placed;
  for (size_t item : order) {
    if (!items[item].live.is_used) continue;
    size_t size = rounded(items[item]);
    Placed made{best_offset(placed, items, item, size), 0, item};
    made.end = made.begin + size;
    layout.offsets[item] = made.begin;
    layout.bytes = std::max(layout.bytes, made.end);
    auto at = std::upper_bound(placed.begin(), placed.end(), made,
                               [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    placed.insert(at, made);
  }
  return layout;
}

size_t least_arena_bytes(const std::vector<ArenaItem>& items) {
  std::map<int, std::pair<size_t, size_t>>
      changes;  // tick -> bytes that begin to live, bytes that lived until the tick before
  for (const ArenaItem& item : items) {
    if (!item.live.is_used) continue;
    changes[item.live.first].first += rounded(item);
    changes[item.live.last + 1].second += rounded(item);
  }
  size_t live = 0;
  size_t most = 0;
  for (const auto& [tick, change] : changes) {
    live = live - change.second + change.first;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace collage::plan
