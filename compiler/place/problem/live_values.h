// SPDX-License-Identifier: Apache-2.0
// Values that are surely in memory together, in whatever order and by whatever candidates nodes run.
//
// A value lies in the memory of the instance that writes it from its writer's step to its last reader's. While node r
// runs, every value whose writer is r or an ancestor of r, and of whose readers one is r or a descendant, is between
// these steps:
//
//     across(r) = { v : writer(v) <= r <= some reader of v }         <= : there is a path, or it is the same node
#pragma once

#include <vector>

#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/quotient.h"

namespace collage::place {

/// `across(node)`; model inputs have no writer.
std::vector<ProblemValueId> values_across(const Problem& problem, const NodeGraph& graph, NodeId node);

/// Nodes at which chosen candidates hold most on an instance, at most `count`, far from each other and from `known`;
/// the one that holds most first.
std::vector<NodeId> busiest_nodes(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory,
                                  MemoryLimits::InstanceId instance, const std::vector<CandidateId>& chosen,
                                  const std::vector<NodeId>& known, size_t count);

}  // namespace collage::place
