// SPDX-License-Identifier: Apache-2.0
// A partition seen as its tensors lie in memory, so that generators know plain tensors only.
//
// Every tensor gets the shape in which its elements stand, and operators that name dimensions are renamed with them:
//
//     %c = Conv(%x, %w)              x NHWC f32[1, 64, 56, 56]
//     %y = Add(%c, %b)               b plain f32[64, 1, 1]
//     %z = Concat(%y, %y) {axis = 1}
//       =>
//     %c = Conv(%x, %w) {data_layout = "channels_last", out_layout = "channels_last"}     x f32[1, 56, 56, 64]
//     %y = Add(%c, %b)                                                                     b f32[1, 1, 64]
//     %z = Concat(%y, %y) {axis = 3}
//
// Windows keep their geometry: `data_layout` says that the operand's channels are last, `out_layout` the result's.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/layout/value_layouts.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::codegen {

struct MemoryOrder {
  ir::Graph graph;                  ///< the partition's nodes and nothing else
  std::vector<ir::NodeId> nodes;    ///< of the original graph, by node of `graph`
  std::vector<ir::ValueId> values;  ///< of the original graph, by value of `graph`; none: a constant that is its own
  ValueLayouts layouts;             ///< of original values: those given, and those chosen for values inside
};

/// `layouts` are those of values at the boundary; what is not named there is plain. Expects ascending nodes. The error
/// says which operator cannot be seen so.
runtime::Result<MemoryOrder> to_memory_order(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                             const ValueLayouts& layouts);

}  // namespace collage::codegen
