// SPDX-License-Identifier: Apache-2.0
// How far the operators above a node follow a pattern, for nodes at which no match was completed.
//
//     pattern Relu(Add(Conv(x, w), r)), node %c = Conv   =>   path Relu, Add; climbed to the Add that reads %c, if any
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"

namespace collage::match {

/// What stands over a place in a pattern: one operator, or some that repeat, which may be none.
struct PathStep {
  const ir::Pattern* pattern;
  bool may_be_none;
};
using PatternPath = std::vector<PathStep>;  ///< the root first

/// Paths to every place of the operator in the patterns of the rule.
std::vector<PatternPath> paths_to(const ir::Rule& rule, const ir::OpDef* op);

struct Climb {
  std::set<ir::NodeId> reached;  ///< nodes at the last level
  size_t levels = 0;             ///< climbed; as many as the path has steps if the root was reached
};

/// Climbs from a node, by the values that nodes read, to where the root of the pattern would be.
Climb climb(const ir::Graph& graph, ir::NodeId node, const PatternPath& path);

/// The step at which the climb stopped: `` `%c` is read by Mul``. Expects a climb that did not reach the root.
std::string stop_text(const ir::Graph& graph, const Climb& climbed, const PatternPath& path);

}  // namespace collage::match
