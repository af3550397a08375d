// SPDX-License-Identifier: Apache-2.0
// Strategy `relax`: what TVM does since Relay, and with it Collage, was removed.
//
//   1. FuseOpsByPattern puts what a pattern matches into a composite function, one pattern after the other, those of
//      the first backend first; a node is in one composite at most. (apache/tvm: src/relax/transform/fuse_ops.cc;
//      docs/arch/external_library_dispatch.rst)
//   2. MergeCompositeFunctions merges a composite into the groups of its arguments that are of the same backend, unless
//      another argument depends on that group. (src/relax/transform/merge_composite_functions.cc)
//
//     a@npu -> b@npu -> d@npu, a -> c@host -> d   =>   {a, b} {c} {d}: d waits for c, which waits for a
//
// `merge` is the same for single operators, as BYOC had it in Relay; here what a backend has only as a whole counts,
// too.
#include "compiler/place/baselines/merge_search.h"
#include "compiler/place/policies/claims.h"
#include "compiler/place/policies/place_regions.h"
#include "compiler/place/strategies.h"

namespace collage::place {

runtime::Result<Solution> solve_relax(const Problem& problem, const Strategy&, const SearchOptions& options) {
  const NodeGraph graph = node_graph(problem);
  Blocks blocks(graph);
  const Table<NodeId, OwnerId> owners = claim_all(problem, blocks);
  join_with_writers(graph, owners, blocks);
  std::vector<PolicyRegion> regions;
  for (BlockId block : blocks.in_order()) {
    const OwnerId owner = owners[blocks.nodes(block).front()];
    if (owner.is_valid()) regions.push_back({owner, blocks.nodes(block)});
  }
  return place_regions(problem, regions, options);
}

}  // namespace collage::place
