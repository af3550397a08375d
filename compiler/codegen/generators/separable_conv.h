// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and the pointwise one that alone reads it, with the channels last. What lies between is one
// row of the result at a time, in memory of the thread:
//
//   for each (image, output row):
//     row[position][channel] = depthwise convolution
//     for each panel of output channels:  for each block of positions:
//       sums[position][channel] = bias + row[position][..] w[..][channel]
//       epilogue, store
#pragma once

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// As rules write it: `lower "separable"`.
inline constexpr const char* kSeparable = "separable";

/// Returns whether the generator takes the pair. Expects that `pointwise` reads what `depthwise` makes.
bool takes_separable_conv(const ir::Graph& graph, ir::NodeId depthwise, ir::NodeId pointwise);

/// The group's anchor is the pointwise convolution, its prologue the depthwise one.
KernelSketch generate_separable_conv(const LoweringContext& context, const Group& group);

}  // namespace collage::codegen
