// SPDX-License-Identifier: Apache-2.0
// See waves.h.
#include "compiler/place/policies/waves.h"

#include <algorithm>

#include "compiler/place/policies/claims.h"

namespace collage::place {

BlockGroups waves(const Blocks& blocks, const Table<NodeId, bool>& claimed, bool starts_with_claimed) {
  Table<BlockId, size_t> waits_for(blocks.name_count(), 0);
  std::vector<BlockId> ready, others_ready;  // claimed ones; the others
  const auto release = [&](BlockId block) {
    (is_claimed(blocks, claimed, block) ? ready : others_ready).push_back(block);
  };
  for (BlockId block : blocks.in_order()) {
    waits_for[block] = blocks.writers(block).size();
    if (waits_for[block] == 0) release(block);
  }
  const auto exhaust = [&](std::vector<BlockId>& kind) {
    std::vector<BlockId> wave;
    while (!kind.empty()) {
      wave.push_back(kind.back());
      kind.pop_back();
      for (BlockId reader : blocks.readers(wave.back())) {
        if (--waits_for[reader] == 0) release(reader);
      }
    }
    return wave;
  };
  BlockGroups groups;
  if (!starts_with_claimed) exhaust(others_ready);
  while (!ready.empty() || !others_ready.empty()) {
    groups.push_back(exhaust(ready));
    exhaust(others_ready);
  }
  std::erase_if(groups, [](const std::vector<BlockId>& group) { return group.empty(); });
  for (std::vector<BlockId>& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

}  // namespace collage::place
