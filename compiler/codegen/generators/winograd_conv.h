// SPDX-License-Identifier: Apache-2.0
// Convolution with strides 1 by minimal filtering over height and width (Winograd): channels last on both sides,
// constant weights, one group. Depth has any stride and its taps are summed as channels are.
//
//     task = (part of the output channels, block of tiles of one plane)
//       V = B x B', for each tile, channel and depth tap            x: a tile of n_h x n_w inputs, m_h x m_w results
//       for each panel of output channels:
//         for each of the n_h n_w products:   M = V U               a GEMM, tiles x channels; U = G w G' when compiled
//         y = A M A', epilogue, store
//
// F(4, 3) in both dimensions has 36 products for 16 results, where direct convolution has 144.
//
// Rounding errors are about twice those of a plain sum. An Inf or NaN in the input reaches every result of the tiles
// that read it, also those whose own window does not contain it.
#pragma once

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Returns whether there is a minimal filter for the problem: the node's convolution, or a phase of it.
bool takes_winograd(const ir::Graph& graph, ir::NodeId node, const ConvProblem& problem);

/// Expects a problem that `takes_winograd` accepts.
KernelSketch generate_winograd(const LoweringContext& context, const Group& group, const ConvProblem& problem);

}  // namespace collage::codegen
