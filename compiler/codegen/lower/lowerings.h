// SPDX-License-Identifier: Apache-2.0
// Operators with a separate lowering (pointwise ones are in `pointwise.cpp`). To add one: a file `lower_<op>.cpp` with
// the three functions of a row, and the row in `lowerings.cpp`.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

struct Lowering {
  std::string_view op;
  /// Returns false if the node must run on its reference kernel.
  bool (*accepts)(const ir::Graph& graph, ir::NodeId node);
  /// Number of trailing result dimensions along which the lanes lie in an epilogue; 0: no epilogue.
  size_t (*inner_dims)(const ir::Graph& graph, ir::NodeId node);
  /// The kernels of a group with such an anchor, in the order of execution.
  std::vector<KernelSketch> (*lower)(const LoweringContext& context, const Group& group);
  /// Returns whether rules may choose this generator; null: there is only one, without a name.
  bool (*has_generator)(ir::Generator generator) = nullptr;
};

// The rows, each in its operator's file.
const Lowering& arg_max_lowering();
const Lowering& arg_min_lowering();
const Lowering& average_pool_lowering();
const Lowering& conv_integer_lowering();
const Lowering& conv_lowering();
const Lowering& conv_transpose_lowering();
const Lowering& cum_prod_lowering();
const Lowering& cum_sum_lowering();
const Lowering& dynamic_quantize_lowering();
const Lowering& gemm_lowering();
const Lowering& grid_sample_lowering();
const Lowering& group_normalization_lowering();
const Lowering& instance_normalization_lowering();
const Lowering& layer_normalization_lowering();
const Lowering& log_softmax_lowering();
const Lowering& lrn_lowering();
const Lowering& matmul_integer_lowering();
const Lowering& matmul_lowering();
const Lowering& max_pool_lowering();
const Lowering& qlinear_conv_lowering();
const Lowering& qlinear_matmul_lowering();
const Lowering& resize_lowering();
const Lowering& softmax_lowering();
const Lowering& top_k_lowering();
const Lowering& transpose_lowering();

/// Returns null if the operator has none.
const Lowering* find_lowering(std::string_view op);

/// Lowers a Conv with one channel per group.
std::vector<KernelSketch> lower_depthwise(const LoweringContext& context, const Group& group);

/// Returns null if the operator is not one of those that select elements by index tensors.
const Lowering* indexing_lowering(std::string_view op);

/// Returns null if the operator is not a reduction over axes.
const Lowering* reduction_lowering(std::string_view op);

/// Returns null if the operator is not LSTM, GRU or RNN.
const Lowering* recurrent_lowering(std::string_view op);

/// Accepts linear and separable resampling.
bool accepts_resampling(const ir::Graph& graph, ir::NodeId node);
std::vector<KernelSketch> lower_resampling(const LoweringContext& context, const Group& group);

/// Returns null if the operator does not only move elements.
const Lowering* movement_lowering(std::string_view op);

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
