// SPDX-License-Identifier: Apache-2.0
// Taps of a window that slides over each channel separately, with the channels last: what depthwise convolutions and
// pools have in common.
#pragma once

#include <functional>
#include <vector>

#include "compiler/codegen/generators/window_rows.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/nest/loop_nest.h"
#include "runtime/core/tensor.h"

namespace collage::codegen {

/// One number for each channel, in whole vectors: 0 after them.
runtime::Tensor in_whole_vectors(const runtime::Tensor& list, int64_t lanes);

/// Weights of a depthwise convolution: [channel][tap] => [tap][channel], whole vectors.
runtime::Tensor weights_by_tap(const ConvProblem& problem, const runtime::Tensor& weights, int64_t lanes);

/// Splits the positions of a row into blocks whose results stay in registers, beside operands and what the epilogue
/// needs.
RowSplit blocks_in_registers(int64_t positions, int registers, bool is_epilogue_heavy);

/// Buffers that the taps read.
struct TapBuffers {
  int x = -1;
  int weights = -1;  ///< as of `weights_by_tap`; -1: none
};

/// The next result under a tap with element `x`; `weight` is null where there are no weights.
using TapStep = std::function<Expr(const Expr& result, const Expr& x, const Expr& weight)>;

/// Emits a step for every tap that lies inside the input. Returns the results by position, each from `start` on.
std::vector<Expr> step_over_taps(Nest& nest, const ConvProblem& problem, int64_t channels, const BlockVector& at,
                                 const TapBuffers& buffers, const Expr& start, const TapStep& step);

}  // namespace collage::codegen
