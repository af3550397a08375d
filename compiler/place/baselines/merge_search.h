// SPDX-License-Identifier: Apache-2.0
// What BYOC does with annotations (AnnotateTarget, MergeCompilerRegions, PartitionGraph), over our candidates:
//
//   1. Each node is annotated with the first backend, in the order of registration, that has it alone; the host is
//   last.
//   2. Neighbours with equal annotations become one region, from the inputs on, where no path leaves the region and
//      comes back through others:
//
//          conv@npu -> relu@npu -> softmax@host -> conv@npu   =>   {conv, relu} {softmax} {conv}
//
//   3. A region is a partition if its backend has such a candidate. Where limits forbid it, the backend's largest
//      candidates inside the region are taken, one after another.
#pragma once

#include "compiler/place/problem/blocks.h"

namespace collage::place {

using MergedRegionId = Id<struct MergedRegionTag>;

/// The region of each node, counted by first node; none for a node that nothing has alone. After: the quotient of the
/// regions is acyclic.
Table<NodeId, MergedRegionId> merged_regions(const Problem& problem);

/// Joins the block of each node, from the inputs on, with those of the same owner that it reads, where that closes no
/// cycle. Nodes without an owner stay as they are.
void join_with_writers(const NodeGraph& graph, const Table<NodeId, OwnerId>& owners, Blocks& blocks);

}  // namespace collage::place
