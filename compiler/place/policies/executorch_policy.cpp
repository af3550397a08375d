// SPDX-License-Identifier: Apache-2.0
// Strategy `executorch`: what ExecuTorch does with a list of partitioners.
//
//   1. Partitioners take their turn in the order of the list, the most important first; what one delegated is a single
//      call to the next. (pytorch/executorch: docs/source/backends-overview.md; exir/program/_program.py,
//      to_edge_transform_and_lower)
//   2. Each makes maximal convex partitions by CapabilityBasedPartitioner: from the last node to the first, a supported
//      node becomes a partition, which then absorbs every earlier partition with which it closes no cycle, connected or
//      not. At other nodes the oldest partition absorbs. (pytorch/pytorch: torch/fx/passes/infra/partitioner.py,
//      propose_partitions; partitions of a single node are allowed)
#include <algorithm>

#include "compiler/place/policies/claims.h"
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/strategies.h"

namespace collage::place {
namespace {

/// The part at `self` absorbs those that it can, in their order. False if it was none.
bool absorb(Blocks& blocks, std::vector<BlockId>& parts, size_t self) {
  const size_t before = parts.size();
  for (size_t other = 0; other < parts.size();) {
    if (other == self || !blocks.may_join({parts[self], parts[other]})) {
      ++other;
      continue;
    }
    const auto [first, second] = std::minmax(self, other);
    parts[first] = blocks.join({parts[self], parts[other]});
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(second));
    if (other < self) {
      self = other;
      ++other;
    }
  }
  return parts.size() < before;
}

BlockGroups maximal_convex(Blocks& blocks, const Table<NodeId, bool>& claimed) {
  std::vector<BlockId> order = blocks.in_order();
  std::reverse(order.begin(), order.end());
  std::vector<BlockId> parts;  // by their oldest unit
  bool may_absorb = false;     // the oldest part has not been refused by all others since they last changed
  for (BlockId unit : order) {
    if (is_claimed(blocks, claimed, unit)) {
      parts.push_back(unit);
      absorb(blocks, parts, parts.size() - 1);
      may_absorb = true;
    } else if (may_absorb) {
      may_absorb = absorb(blocks, parts, 0);
    }
  }
  BlockGroups groups;
  for (BlockId part : parts) groups.push_back({part});
  return groups;
}

}  // namespace

runtime::Result<Solution> solve_executorch(const Problem& problem, const Strategy&, const SearchOptions& options) {
  return place_regions(problem, regions_in_turn(problem, maximal_convex), options);
}

}  // namespace collage::place
