// SPDX-License-Identifier: Apache-2.0
// Strategy `torch_tensorrt`: what Torch-TensorRT's partitioner of FX graphs does (use_fast_partitioner, the default).
//
//   1. Waves of supported and of other nodes in turn; others first if one of them is ready at the beginning.
//      (pytorch/pytorch: torch/fx/passes/splitter_base.py, put_nodes_into_subgraphs; pytorch/TensorRT:
//      py/torch_tensorrt/dynamo/partitioning/_adjacency_partitioner.py)
//   2. A supported wave of fewer than `min_block_size` operators stays with PyTorch. (remove_small_acc_subgraphs there;
//      dynamo/_defaults.py: MIN_BLOCK_SIZE = 5)
//
// It has one engine. With several backends each takes its turn, as in its example of a hierarchical partitioner.
//
//     waves {9 operators} {2 operators}, min_block_size 5   =>   {9}
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/policies/waves.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_torch_tensorrt(const Problem& problem, const Strategy& strategy,
                                               const SearchOptions& options) {
  const size_t least_nodes = strategy.number(0, 5);
  const auto group = [&](const Blocks& blocks, const Table<NodeId, bool>& claimed) {
    BlockGroups large = waves(blocks, claimed, false);
    std::erase_if(large, [&](const auto& wave) { return blocks.nodes(wave).size() < least_nodes; });
    return large;
  };
  return place_regions(problem, regions_in_turn(problem, group), options);
}

}  // namespace collage::place
