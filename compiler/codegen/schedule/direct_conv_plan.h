// SPDX-License-Identifier: Apache-2.0
// Sizes of a direct convolution with the channels last: blocks of positions x vectors of output channels, and the order
// in which threads get them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/register_block.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

/// A task is one panel of output channels on one row of the output. Where the output has one row only, rows are chunks
/// of its blocks: row i has the blocks from i * blocks / rows on.
struct DirectConvPlan {
  BlockSize block;     ///< positions x vectors of output channels
  RowSplit positions;  ///< of a row of the output
  int64_t width = 1;   ///< channels of a panel; the last may have fewer
  int64_t panels = 1;
  int64_t rows = 1;
  bool has_one_row = false;
  bool weights_are_near = true;  ///< all of them stay in the second-level cache
  bool fetches_weights = false;  ///< while a panel is computed, those of the next
  bool panel_inside = false;     ///< neighbouring tasks are panels of one row; else rows of one panel

  int64_t channels(const ConvProblem& problem, int64_t panel) const {
    return std::min(width, problem.out_channels - panel * width);
  }
};

DirectConvPlan plan_direct_conv(const ConvProblem& problem, const Machine& machine);

}  // namespace collage::codegen
