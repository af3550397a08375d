// SPDX-License-Identifier: Apache-2.0
// Shapes of convolutions and matrix products, for all operators that compute them on floats, integers or quantised
// numbers, with operands at different positions. Each operator checks its own dtypes.
#pragma once

#include "compiler/ir/ops/op_def.h"

namespace collage::ir::ops {

/// Roles of the operands of a convolution, besides operand 0, the input.
struct ConvOperands {
  static constexpr size_t kNone = ~size_t{0};

  size_t w = 1;
  size_t bias = 2;  ///< may be absent
};

/// Result 0 of a convolution.
bool infer_convolution(InferContext& ctx, const ConvOperands& at, DType result);

/// Every output element sums Cin / group * kernel products.
double convolution_macs(const WorkArgs& args, size_t weights);

std::vector<AttrDef> conv_attrs();

/// Result 0 of operand `left` times `right`. A vector on the left is a row, on the right a column; its dimension
/// disappears from the result.
bool infer_matrix_product(InferContext& ctx, size_t left, size_t right, DType result);

}  // namespace collage::ir::ops
