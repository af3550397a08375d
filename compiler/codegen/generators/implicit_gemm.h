// SPDX-License-Identifier: Apache-2.0
// Convolution as an implicit GEMM over plain NCHW tensors: rows are output channels (weights packed when compiled,
// broadcast), columns are output positions, all dimensions of a plane flattened (vectors), k is (input channel, taps).
//
//   task = (image, group, chunk of output channels, chunk of panels)
//     for each panel of the chunk:  scratch[k][column] = the input under tap k of that position, 0 outside
//     for each block of output channels:  for each panel:  block of sums, epilogue, store
//
// A transposed convolution is one such kernel per phase (`transposed_phases`), whose results are scattered. Computed
// weights are read unpacked.
//
// Panels are copied row by row of the output plane: a piece of a row is contiguous in the input if the stride is 1, and
// a gather otherwise. Lanes beyond the plane are copied as 0 and masked when stored.
#pragma once

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"
#include "compiler/codegen/kernel/quantized_sums.h"

namespace collage::codegen {

/// Expects plain tensors (`accepts_conv`).
KernelSketch generate_implicit_gemm(const LoweringContext& context, const Group& group, const ConvProblem& problem);

/// A convolution of bytes: x lies in a temporary with its pads, four channels side by side in an element.
struct QuantizedConv {
  ir::NodeId node;
  int x = -1;                                 ///< the temporary
  std::vector<std::vector<int32_t>> weights;  ///< of each term [channel out][four channels in][taps], four bytes each
  SumsSpec sums;
};

/// The in-channels of `problem` are the elements of `quantized.x`; it has no pads.
KernelSketch generate_quantized_gemm(const LoweringContext& context, const Group& group, const ConvProblem& problem,
                                     const QuantizedConv& quantized);

}  // namespace collage::codegen
