// SPDX-License-Identifier: Apache-2.0
// Splits a host partition into groups, one kernel each (see Group), so that values used only inside a group are not
// stored in memory.
//
//   %c = Conv(%x, %w)  %r = Relu(%c)  %s = Add(%r, %t)   =>  one group: Conv, with Relu and Add before the store
//   %u = Resize(%x, …)  %c = Conv(%u, %w)                =>  one group, if the Conv's generator takes the Resize in
//   %d = Conv(%x, %w)  %r = Relu(%d)  %c = Conv(%r, %v)  =>  one group, if a rule says so: depthwise, then pointwise
//   %b = Slice(%x, …)  %n = Neg(%b)  %c = Concat(%n, …)  =>  one group, which reads the slice where it lies
#pragma once

#include <vector>

#include "compiler/codegen/kernel/lowering.h"
#include "compiler/ir/graph/graph.h"

namespace collage::codegen {

/// Expects a convex set of nodes, ascending. Every node is in exactly one group; the groups are in an order of
/// execution, and the graph of groups has no cycle.
std::vector<Group> form_groups(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                               const GeneratorNames& generators = {}, Numerics numerics = Numerics::F32);

}  // namespace collage::codegen
