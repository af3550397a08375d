// SPDX-License-Identifier: Apache-2.0
// Graph (and Placement) -> model language. print -> parse -> print is the identity.
#pragma once

#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"

namespace collage::ir {

/// Always prints result types. Constants of form File are printed as references.
std::string print(const Graph& graph);

/// A placed model: partitions in execution order, conversions as operators before the partition that first needs them.
std::string print(const Graph& graph, const Placement& placement);

}  // namespace collage::ir
