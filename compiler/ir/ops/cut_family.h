// SPDX-License-Identifier: Apache-2.0
// How operators can be cut into parts (compiler/ir/analysis/node_slices.h).
#pragma once

namespace collage::ir {

/// How an operator uses the dimensions of its operands.
enum class CutFamily {
  None,           ///< it cannot be cut
  Elementwise,    ///< operands are broadcast
  First,          ///< operand 0, element by element; of the others their type, or one number
  Conv,           ///< x, w, and operands along the output channels
  ConvTranspose,  ///< x, w, bias
  Product,        ///< matrices in the last two dimensions, the others broadcast
  Gemm,
  Pool,
  GlobalPool,
  Channelwise,  ///< BatchNormalization: parameters along dimension 1
  Quantize,     ///< parameters along dimension `axis`, or of blocks along it
  Along,        ///< each vector along dimension `axis` by itself
  Norm,         ///< LayerNormalization: the dimensions from `axis` on by themselves, with parameters that are broadcast
  Matrix,       ///< Trilu: each matrix of the last two dimensions by itself
  Transpose,
  Reshape,  ///< the same elements in their order; operand 1, if there is one, is a shape or a list of dimensions
  Expand,
  Concat,
  Split,
  Slice,
  Gather,         ///< indices in place of the dimension `axis`
  GatherElements  ///< one element of a vector along dimension `axis` for each index
};

}  // namespace collage::ir
