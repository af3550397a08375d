// SPDX-License-Identifier: Apache-2.0
// Convolution whose result has its channels last, without a packed copy of the input: a block of neighbouring positions
// of one output row x vectors of output channels in registers, one loop over taps and input channels.
//
//   weights, packed when compiled: [group][panel of output channels][tap d, h, w][input channel][channel of the panel]
//   for each (image, group, output row) and panel:   in either order, by what stays in the cache
//     for each block of positions of the row:
//       sums = bias
//       for taps d, h that lie inside the input:
//         for tap w (unrolled up to a width; positions for which it lies outside take no part):
//           for each input channel:  sums[position][channel] += x[position + tap][input channel] w[..][channel]
//       epilogue, store
//
// Elements of the input are broadcast, so that it may lie in either layout. A 1x1 convolution over whole planes is one
// row of all positions.
#pragma once

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Returns whether the generator takes a Conv or ConvTranspose: f32, the result's channels last, weights and bias
/// constant.
bool takes_direct_conv(const ir::Graph& graph, ir::NodeId node);

/// `problem` is the convolution, or a phase of a transposed one.
KernelSketch generate_direct_conv(const LoweringContext& context, const Group& group, const ConvProblem& problem);

}  // namespace collage::codegen
