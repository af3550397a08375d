// SPDX-License-Identifier: Apache-2.0
// Windows that slide over each channel separately, on tensors with the channels last: depthwise convolution, MaxPool,
// AveragePool. Lanes lie along the channels, a block of neighbouring positions of a row is in registers:
//
//   for each (image, output row):  for each block of positions:  for each vector of channels:
//     for taps d, h that lie inside the input:  for tap w (unrolled):
//       results[position] = step(results[position], x[position + tap][channels], w[tap][channels])
//     epilogue, store
#pragma once

#include <vector>

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

enum class WindowStep { Convolve, Max, Average };

/// Returns whether the generator takes the node: f32, channels last in operand and result, weights and bias constant.
bool takes_channel_window(const ir::Graph& graph, ir::NodeId node);

std::vector<KernelSketch> generate_channel_window(const LoweringContext& context, const Group& group, WindowStep step,
                                                  const ConvProblem& problem);

}  // namespace collage::codegen
