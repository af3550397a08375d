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

struct NodeGraph {
  std::vector<std::vector<int>> successors;  ///< ascending, each once
  std::vector<std::vector<int>> predecessors;
};

NodeGraph node_graph(const Problem& problem);

/// Reflexive and transitive.
class Reachability {
 public:
  explicit Reachability(const NodeGraph& graph);

  bool reaches(int from, int to) const {
    const uint64_t word = rows_[static_cast<size_t>(from) * words_ + static_cast<size_t>(to) / 64];
    return (word >> (static_cast<size_t>(to) % 64) & 1) != 0;
  }
  bool reaches(const std::vector<int>& from, const std::vector<int>& to) const;

 private:
  size_t words_ = 0;
  std::vector<uint64_t> rows_;
};

/// No path leaves the set and comes back. `nodes` ascending.
bool is_convex(const NodeGraph& graph, const Reachability& reach, const std::vector<int>& nodes);
/// Every node of the set that reads from outside reaches every node of it that is read outside.
bool is_transparent(const NodeGraph& graph, const Reachability& reach, const std::vector<int>& nodes);

/// Whether the quotient with all other nodes as singletons stays acyclic when `added` joins the disjoint `sets`, all of
/// them convex, `sets` without a cycle among themselves.
bool stays_acyclic(const Reachability& reach, const std::vector<const std::vector<int>*>& sets,
                   const std::vector<int>& added);

}  // namespace collage::place
