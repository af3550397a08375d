// SPDX-License-Identifier: Apache-2.0
// One of many equal instances, which stands for all while candidates are listed and priced:
//
//     npu[0] … npu[511], 1,500 operators   =>   candidates of npu[0] alone; spread.h adds those that a placement uses
//
// A candidate costs the same on every instance of its backend. Where the user names an instance for a node, candidates
// with that node are offered there as well.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/place/build/user_constraints.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

/// Whether listing every candidate for every instance makes a problem that no search finishes: there are many
/// instances, and conversions between all pairs of their memories.
bool are_too_many(const Problem& problem);

class Representatives {
 public:
  /// Expects the owners of the problem. Pins are those of the graph.
  Representatives(const ir::Graph& graph, const Problem& problem, const std::vector<Constraint>& constraints);

  bool are_offered(const std::vector<NodeId>& nodes, OwnerId owner) const;

 private:
  Table<OwnerId, bool> stands_for_all_;
  Table<OwnerId, std::set<NodeId>> named_;  ///< nodes that may have to run there
};

/// Instances that some `--forbid` names: nothing is spread over them.
std::set<std::string> forbidden_instances(const Problem& problem, const std::vector<Constraint>& constraints);

}  // namespace collage::place
