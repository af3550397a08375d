// SPDX-License-Identifier: Apache-2.0
// From what a policy gives to whom, to a solution of the problem.
//
// Other systems hand any set of nodes to a backend; here a partition is a candidate. So of each region the largest
// candidates of its owner are taken that lie inside, one after another, as far as limits and memory allow and no cycle
// closes. A region that is no candidate becomes several. What none of them holds goes to the host, where it is placed
// as well as can be: no policy is about that.
//
//     region {conv, relu, conv'} of npu, which joins two operators at most   =>   {conv, relu}@npu {conv'}@npu
#pragma once

#include <functional>
#include <vector>

#include "compiler/place/problem/blocks.h"
#include "compiler/place/problem/search_options.h"
#include "runtime/core/status.h"

namespace collage::place {

/// Nodes that one instance shall run as a whole.
struct PolicyRegion {
  OwnerId owner;
  std::vector<NodeId> nodes;  ///< ascending
};

/// The regions are disjoint; the host runs what is in none.
runtime::Result<Solution> place_regions(const Problem& problem, const std::vector<PolicyRegion>& regions,
                                        const SearchOptions& options);

/// Claimed blocks that shall become one region each.
using BlockGroups = std::vector<std::vector<BlockId>>;
using Grouping = std::function<BlockGroups(Blocks& blocks, const Table<NodeId, bool>& claimed)>;

/// The regions of backends that take their turn one after the other. Each groups the units of nodes that those before
/// it left; what it took is one node to those after it.
std::vector<PolicyRegion> regions_in_turn(const Problem& problem, const Grouping& grouping);

}  // namespace collage::place
