// SPDX-License-Identifier: Apache-2.0
// Strategy `hetero`: what OpenVINO's HETERO does with a list of devices.
//
//   1. Devices are asked in the order of their priority (`query_model`); a node gets the affinity of the first that
//      supports it. "Greedy behaviour: assigns all operations that can be executed on a given device, according to the
//      priorities." (docs.openvino.ai: Heterogeneous Execution, automatic mode; openvinotoolkit/openvino:
//      the plug-in hetero, query_model)
//   2. Connected nodes of one affinity are a sub-graph, compiled as one, cut where sub-graphs would wait for each
//      other: hetero_split.h. The CPU is a device as others, so its sub-graphs cut theirs.
#include "compiler/place/policies/claims.h"
#include "compiler/place/policies/hetero_split.h"
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_hetero(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const NodeGraph graph = node_graph(problem);
  Blocks units(graph);
  const Table<NodeId, OwnerId> owners = claim_all(problem, units);
  std::vector<PolicyRegion> regions;
  for (const std::vector<BlockId>& sub_graph : hetero_sub_graphs(problem, units, owners)) {
    const std::vector<NodeId> nodes = units.nodes(sub_graph);
    if (owners[nodes.front()].is_valid()) regions.push_back({owners[nodes.front()], nodes});
  }
  return place_regions(problem, regions, options);
}

}  // namespace collage::place
