// SPDX-License-Identifier: Apache-2.0
// Values that are surely in memory together, in whatever order and by whatever candidates nodes run.
//
// A value that leaves its candidate lies in the memory of the instance that writes it until its last reader there, and
// until the first reader elsewhere begins. So while node r runs, it is there if its writer is r or an ancestor of r,
// one of its readers is r or a descendant (or it is an output), and all other readers run there, too:
//
//     across(r) = { v : writer(v) <= r <= some reader of v }         <= : there is a path, or it is the same node
//     early(v, r) = { readers of v that are not r or a descendant }
#pragma once

#include <vector>

#include "compiler/place/problem/memory_limits.h"
#include "compiler/place/problem/quotient.h"

namespace collage::place {

struct ValueAcross {
  ProblemValueId value;
  std::vector<NodeId> early{};  ///< ascending
};

/// `across(node)`; model inputs have no writer.
std::vector<ValueAcross> values_across(const Problem& problem, const NodeGraph& graph, NodeId node);

/// What runs before a node r, and what after it; r is on both sides.
struct Sides {
  Table<NodeId, char> is_before;
  Table<NodeId, char> is_after;
};

/// The ancestors of a node, and its descendants.
Sides sides_by_paths(const NodeGraph& graph, NodeId node);
/// Nodes that run before `node` in some order and have smaller ids, and all others.
Sides sides_of_run(size_t node_count, NodeId node, const std::vector<NodeId>& earlier);

/// A value that some instance may hold while a node r runs, whichever node makes it: a node after r reads it, or it is
/// an output, and its writer, or some reader, is before r.
struct ValueBeside {
  ProblemValueId value;
  std::vector<NodeId> before{};  ///< readers, ascending
  std::vector<NodeId> late{};    ///< readers that are after r, ascending
};

/// Model inputs are among them.
std::vector<ValueBeside> values_beside(const Problem& problem, NodeId node, const Sides& sides);

/// Nodes at which chosen candidates hold most on an instance, at most `count`, far from each other and from `known`;
/// the one that holds most first.
std::vector<NodeId> busiest_nodes(const Problem& problem, const NodeGraph& graph, const MemoryLimits& memory,
                                  MemoryLimits::InstanceId instance, const std::vector<CandidateId>& chosen,
                                  const std::vector<NodeId>& known, size_t count);

}  // namespace collage::place
