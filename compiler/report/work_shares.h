// SPDX-License-Identifier: Apache-2.0
// How the time of nodes that run as a unit divides among them, where only the sum is known: by their multiply-adds and
// the bytes that they move, whichever takes longer on a processor. An estimate, marked `about` wherever it is shown.
//
//     Conv, Relu of it, MaxPool   =>   0.97, 0, 0.03: the Relu reads nothing from memory that Conv does not hold
#pragma once

#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::report {

/// By node; the sum is 1. Nodes without work have equal shares where no other has any.
std::vector<double> work_shares(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::report
