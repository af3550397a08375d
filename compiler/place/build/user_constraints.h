// SPDX-License-Identifier: Apache-2.0
// What the user asks of a placement beside the model: `--place`, `--forbid`, `--together`. They hold for every
// strategy, because they take candidates away before any search:
//
//     place     nodes run on that backend or device only
//     forbid    nodes do not run there
//     together  nodes are in one partition: a candidate has all of them or none
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::place {

struct Constraint {
  enum class Kind { Place, Forbid, Together };
  Kind kind = Kind::Place;
  std::vector<ir::NodeId> nodes;  ///< ascending, not empty
  std::string target;             ///< Place, Forbid: a backend or a device
  int instance = -1;              ///< of the target; -1: any
  std::string option;             ///< as the user typed it, for messages: `--place conv1=npu`
};

class ProblemBuilder;

/// Removes candidates that a constraint of the options forbids. Returns false after an error: a constraint that leaves
/// a node without candidates.
bool apply_constraints(ProblemBuilder& builder);

}  // namespace collage::place
