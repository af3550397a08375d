// SPDX-License-Identifier: Apache-2.0
// The operators that have a lowering of their own (pointwise ones have theirs in `pointwise.cpp`). To add one: a file
// `lower_<op>.cpp` with the three functions of a row, and the row in `lowerings.cpp`.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/codegen/lower/lowering.h"

namespace collage::codegen {

struct Lowering {
  std::string_view op;
  /// False: this node runs on its reference kernel.
  bool (*accepts)(const ir::Graph& graph, ir::NodeId node);
  /// Trailing result dimensions that lie along the lanes where an epilogue is evaluated; 0: takes no epilogue.
  size_t (*inner_dims)(const ir::Graph& graph, ir::NodeId node);
  /// The kernels of a group with such an anchor, in the order of execution.
  std::vector<KernelSketch> (*lower)(const LoweringContext& context, const Group& group);
};

// The rows, each in its operator's file.
const Lowering& average_pool_lowering();
const Lowering& conv_lowering();
const Lowering& conv_transpose_lowering();
const Lowering& gemm_lowering();
const Lowering& instance_normalization_lowering();
const Lowering& layer_normalization_lowering();
const Lowering& log_softmax_lowering();
const Lowering& lrn_lowering();
const Lowering& matmul_lowering();
const Lowering& max_pool_lowering();
const Lowering& resize_lowering();
const Lowering& softmax_lowering();
const Lowering& transpose_lowering();

/// Null if the operator has none.
const Lowering* find_lowering(std::string_view op);

/// One channel in, one out: a part of Conv.
std::vector<KernelSketch> lower_depthwise(const LoweringContext& context, const Group& group);

/// Null if the operator is no reduction over axes.
const Lowering* reduction_lowering(std::string_view op);

/// Linear and separable, every dimension on its own.
bool accepts_resampling(const ir::Graph& graph, ir::NodeId node);
std::vector<KernelSketch> lower_resampling(const LoweringContext& context, const Group& group);

/// Null if the operator does more than move elements.
const Lowering* movement_lowering(std::string_view op);

/// Operators that only move elements. The node is the group's first.
std::vector<KernelSketch> lower_movement(const LoweringContext& context, const Group& group);

/// The node's result is its operand, or a part of it, as it lies in memory.
std::optional<SharedMemory> whole_copy(const ir::Graph& graph, ir::NodeId node);

std::vector<KernelSketch> lower_pointwise(const LoweringContext& context, const Group& group);

}  // namespace collage::codegen
