// SPDX-License-Identifier: Apache-2.0
// The order in which the search covers nodes: topological, post-order of a depth-first walk from the sinks, deepest
// operand first. A branch is finished before the next begins, so few values are alive at once; measured, this decides
// whether the search closes on networks of many branches.
#pragma once

#include "compiler/place/problem/quotient.h"

namespace collage::place {

Table<Position, NodeId> search_order(const NodeGraph& graph);

}  // namespace collage::place
