// SPDX-License-Identifier: Apache-2.0
// Which nodes reach which, and whether contracting node sets leaves the graph acyclic.
//
// Convex sets are not enough. With edges p->q, r->s, p->s, r->q both {p,q} and {r,s} are convex, yet each then waits
// for the other. What makes a set dangerous is that contracting it adds paths: from every node that enters it to every
// node that leaves it. Sets that had these paths before ("transparent": all with one exit do) add none and can be
// forgotten.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

/// In a topological order of the nodes.
using Position = Id<struct PositionTag>;

/// `Node` in all that follows: NodeId, or Position in a graph renumbered to some order.
template <typename Node>
struct Neighbours {
  Table<Node, std::vector<Node>> successors;  ///< ascending, each once
  Table<Node, std::vector<Node>> predecessors;

  size_t size() const { return successors.size(); }
};
using NodeGraph = Neighbours<NodeId>;

NodeGraph node_graph(const Problem& problem);

/// Reflexive and transitive.
template <typename Node>
class Reachability {
 public:
  explicit Reachability(const Neighbours<Node>& graph);

  bool reaches(Node from, Node to) const {
    const uint64_t word = rows_[from.slot() * words_ + to.slot() / 64];
    return (word >> (to.slot() % 64) & 1) != 0;
  }
  bool reaches(const std::vector<Node>& from, const std::vector<Node>& to) const;

 private:
  size_t words_ = 0;
  std::vector<uint64_t> rows_;
};

/// No path leaves the set and comes back. `nodes` ascending.
template <typename Node>
bool is_convex(const Neighbours<Node>& graph, const Reachability<Node>& reach, const std::vector<Node>& nodes);
/// Every node of the set that reads from outside reaches every node of it that is read outside.
template <typename Node>
bool is_transparent(const Neighbours<Node>& graph, const Reachability<Node>& reach, const std::vector<Node>& nodes);

/// Whether the quotient with all other nodes as singletons stays acyclic when `added` joins the disjoint `sets`, all of
/// them convex, `sets` without a cycle among themselves.
template <typename Node>
bool stays_acyclic(const Reachability<Node>& reach, const std::vector<const std::vector<Node>*>& sets,
                   const std::vector<Node>& added);

}  // namespace collage::place
