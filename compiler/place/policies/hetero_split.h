// SPDX-License-Identifier: Apache-2.0
// The sub-graphs of OpenVINO's HETERO: connected nodes of equal affinity, cut where they would wait for each other.
//
//   1. A unit that depends on its own sub-graph through others is cut from those of its inputs that do not, and that
//      share an entry of the sub-graph with what it waits for. Again, until nothing is cut.
//   2. While sub-graphs still wait for each other in a circle, one unit of them is cut from all its inputs inside: one
//      that reads another of the circle, else one that shares an input, else that of the fewest inputs.
//
//     a -> b -> d, a -> c -> d     c on another device   =>   d is cut from b: {a, b} {c} {d}
//     a -> x, y -> b, x <- s -> y, a <- t -> b     x, y, s on another device: only 2 sees it
//
// (openvinotoolkit/openvino: the plug-in hetero, subgraph_collector, split_cyclic_dependencies. Step 2 came with
// pull request 36126; before, such models ended with "Cannot sort subgraphs!". Its exceptions for leaves are left out,
// and constants, which are nodes there, connect nothing here.)
#pragma once

#include <vector>

#include "compiler/place/problem/blocks.h"

namespace collage::place {

/// The sub-graphs as sets of blocks, in the order of their first block. After: they do not wait for each other. Blocks
/// whose nodes have no owner have an affinity of their own, the host's.
std::vector<std::vector<BlockId>> hetero_sub_graphs(const Problem& problem, const Blocks& blocks,
                                                    const Table<NodeId, OwnerId>& owners);

}  // namespace collage::place
