// SPDX-License-Identifier: Apache-2.0
// Operators with a separate lowering (pointwise ones are in `pointwise.cpp`). To add one: a file `lower_<op>.cpp` with
// the functions of a `Lowering`, and a row in lowerings.def.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

struct Lowering {
  /// Returns false if the node must run on its reference kernel.
  bool (*accepts)(const ir::Graph& graph, ir::NodeId node);
  /// Number of trailing result dimensions along which the lanes lie in an epilogue; 0: no epilogue.
  size_t (*inner_dims)(const ir::Graph& graph, ir::NodeId node);
  /// The kernels of a group with such an anchor, in the order of execution.
  std::vector<KernelSketch> (*lower)(const LoweringContext& context, const Group& group);
  /// Returns whether rules may choose this generator; null: there is only one, without a name.
  bool (*has_generator)(ir::Generator generator) = nullptr;
};

#define LOWERING(op, function) const Lowering& function();
#include "compiler/codegen/lower/lowerings.def"
#undef LOWERING

/// Returns null if the operator has none.
const Lowering* find_lowering(std::string_view op);

/// Lowers a Conv with one channel per group.
std::vector<KernelSketch> lower_depthwise(const LoweringContext& context, const Group& group);

/// Accepts linear and separable resampling.
bool accepts_resampling(const ir::Graph& graph, ir::NodeId node);
std::vector<KernelSketch> lower_resampling(const LoweringContext& context, const Group& group);

/// Returns whether the node only moves elements, as strided copies of memory that code can make.
bool accepts_movement(const ir::Graph& graph, ir::NodeId node);

/// Lowers an operator that only moves elements: the group's first node.
std::vector<KernelSketch> lower_movement(const LoweringContext& context, const Group& group);

/// Returns a value if the node's result is its operand, or a contiguous part of it.
std::optional<SharedMemory> whole_copy(const ir::Graph& graph, ir::NodeId node);

std::vector<KernelSketch> lower_pointwise(const LoweringContext& context, const Group& group);

/// Lowers a group over rows.
std::vector<KernelSketch> lower_row_group(const LoweringContext& context, const Group& group);

/// Lowers a group that cuts rows and joins them.
std::vector<KernelSketch> lower_moved_rows(const LoweringContext& context, const Group& group);

/// Lowers a product of rows that are made from another product: both MatMuls, the nodes between them, and Transposes.
std::vector<KernelSketch> lower_attention(const LoweringContext& context, const Group& group);

}  // namespace collage::codegen
