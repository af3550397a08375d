// SPDX-License-Identifier: Apache-2.0
// Graph (and Placement) -> model language. print -> parse -> print is the identity, but for what is printed to be
// looked at alone, which does not parse.
#pragma once

#include <string>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/graph/print_parts.h"
#include "compiler/ir/placement/placement.h"

namespace collage::ir {

/// Always prints result types. Constants of form File are printed as references.
std::string print(const Graph& graph, Elements elements = Elements::All);

/// A placed model: partitions in execution order, conversions as operators before the partition that first needs them.
std::string print(const Graph& graph, const Placement& placement, Elements elements = Elements::All);

}  // namespace collage::ir
