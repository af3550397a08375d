// SPDX-License-Identifier: Apache-2.0
// Strategy `onnxruntime`: what ONNX Runtime does with a list of execution providers.
//
//   1. Providers are asked in the order of their registration; a node that one has taken is no one else's.
//      (microsoft/onnxruntime: onnxruntime/core/framework/graph_partitioner.cc)
//   2. GetCapability groups what the provider supports by a variant of Kahn's topological sort: of the nodes that are
//      ready, supported ones join the group, others that read none of it are passed, and those that do end it. Each
//      group is compiled as one. (core/providers/partitioning_utils.cc, CreateSupportedPartitionNodeGroups, used by the
//      providers of CoreML, NNAPI, QNN and XNNPACK)
//   3. A convolution between DequantizeLinear and QuantizeLinear is one NodeUnit, which is never broken up.
//      (core/framework/node_unit)
//
// Others that read nothing of the group are those that can be passed before it begins: waves (waves.h) that start with
// unsupported nodes. No cost has a part in it.
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/policies/waves.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_onnxruntime(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const auto group = [](const Blocks& blocks, const Table<NodeId, bool>& claimed) {
    return waves(blocks, claimed, false);
  };
  return place_regions(problem, regions_in_turn(problem, group), options);
}

}  // namespace collage::place
