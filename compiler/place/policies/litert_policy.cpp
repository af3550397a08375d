// SPDX-License-Identifier: Apache-2.0
// Strategy `litert`: what LiteRT (TensorFlow Lite) does with its delegates.
//
//   1. Delegates are applied one after the other; each sees what those before it left.
//      (tensorflow/tensorflow: tensorflow/lite/core/subgraph.cc, Subgraph::ModifyGraphWithDelegate)
//   2. The graph is cut into waves of supported and of other nodes. The first node of the execution plan decides which
//      comes first. (tensorflow/lite/graph_info.cc, PartitionGraphIntoIndependentNodeSubsets)
//   3. Of the supported waves the delegate takes the N with the most nodes, while they have `min_nodes_per_partition`.
//      (tensorflow/lite/delegates/utils.cc, GraphPartitionHelper::GetFirstNLargestPartitions)
//
// The GPU delegate has N = 1 unless it is asked for more (delegates/gpu/delegate.cc: max_delegated_partitions).
//
//     waves {8 nodes} {30 nodes} {23 nodes}   =>   litert: {30}   litert:2: {30} {23}   litert:3,10: {30} {23}
#include <algorithm>

#include "compiler/place/policies/claims.h"
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/policies/waves.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_litert(const Problem& problem, const Strategy& strategy, const SearchOptions& options) {
  const size_t most_regions = strategy.number(0, 1);
  const size_t least_nodes = strategy.number(1, 1);
  const auto group = [&](const Blocks& blocks, const Table<NodeId, bool>& claimed) {
    const auto size = [&](const std::vector<BlockId>& wave) { return blocks.nodes(wave).size(); };
    const std::vector<BlockId> order = blocks.in_order();
    const bool starts_with_claimed = !order.empty() && is_claimed(blocks, claimed, order.front());
    BlockGroups largest = waves(blocks, claimed, starts_with_claimed);
    std::stable_sort(largest.begin(), largest.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
    largest.resize(std::min(largest.size(), most_regions));
    std::erase_if(largest, [&](const auto& wave) { return size(wave) < least_nodes; });
    return largest;
  };
  return place_regions(problem, regions_in_turn(problem, group), options);
}

}  // namespace collage::place
