// SPDX-License-Identifier: Apache-2.0
// What a backend says that it supports, node by node, as the policies of other systems ask.
//
// A node that the backend has alone is a unit. A node that it has only together with others is in the smallest
// candidate that holds it, which is a unit as well and never taken apart: a convolution between its conversions (the
// "QDQ node unit" of ONNX Runtime), a composite pattern of TVM.
//
//     candidates {dq, conv, q} {relu} {dq, conv, q, relu}   =>   units {dq, conv, q} {relu}
#pragma once

#include <vector>

#include "compiler/place/problem/blocks.h"

namespace collage::place {

/// The instances that policies fill, in the order of registration: of each backend but the host the first one.
std::vector<OwnerId> owners_in_turn(const Problem& problem);

/// Joins the blocks of the units that the owner has of nodes that nothing owns yet. Returns whether a node is in one.
Table<NodeId, bool> claim(const Problem& problem, OwnerId owner, const Table<NodeId, OwnerId>& owned, Blocks& blocks);

/// Claims for one owner after the other. Returns the owner of each node, the first that has it; none: the host runs it.
Table<NodeId, OwnerId> claim_all(const Problem& problem, Blocks& blocks);

/// Whether the nodes of a block were claimed, which are so together.
inline bool is_claimed(const Blocks& blocks, const Table<NodeId, bool>& claimed, BlockId block) {
  return claimed[blocks.nodes(block).front()];
}

}  // namespace collage::place
