// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution, pointwise operators after it, and the pointwise convolution that alone reads them, with the
// channels last. What lies between is one row of the result at a time, in memory of the thread:
//
//   for each (image, output row):
//     row[position][channel] = what the operators make of the depthwise convolution
//     for each panel of output channels:  for each block of positions:
//       sums[position][channel] = bias + row[position][..] w[..][channel]
//       epilogue, store
#pragma once

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Returns whether the generator takes the pair. Expects that `pointwise` alone reads what becomes of the other's
/// result.
bool takes_separable_conv(const ir::Graph& graph, ir::NodeId depthwise, ir::NodeId pointwise);

/// The group's anchor is the pointwise convolution, its prologue the depthwise one, with any nodes between.
KernelSketch generate_separable_conv(const LoweringContext& context, const Group& group);

}  // namespace collage::codegen
