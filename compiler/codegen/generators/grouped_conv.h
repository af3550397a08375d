// SPDX-License-Identifier: Apache-2.0
// Convolution with a few channels per group, as many as results, channels last: a vector holds whole groups. Lanes lie
// along the output channels; each lane needs its own group's input channels, which are in the same lanes of the input:
//
//   for each block of positions of an output row, each vector of channels:
//     for taps d, h that lie inside the input, each channel k of a group:
//       for each input position under the block:
//         v = x[position][lane / group * group + k]          one permutation for all taps w
//         for taps w and positions that meet there:  sums[position] += v * w[tap][k][lane]
#pragma once

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Returns whether the generator takes a Conv: channels last, 2 or more channels a group that divide a vector, weights
/// and bias constant, and a machine that permutes lanes.
bool takes_grouped_conv(const LoweringContext& context, ir::NodeId node, const ConvProblem& problem);

KernelSketch generate_grouped_conv(const LoweringContext& context, const Group& group, const ConvProblem& problem);

}  // namespace collage::codegen
