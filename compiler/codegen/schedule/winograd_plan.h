// SPDX-License-Identifier: Apache-2.0
// Sizes of a Winograd convolution: the filters, the blocks of tiles and of output channels.
#pragma once

#include <cstdint>

#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/schedule/division.h"
#include "compiler/codegen/schedule/minimal_filter.h"
#include "compiler/codegen/schedule/register_block.h"
#include "compiler/codegen/target/machine.h"

namespace collage::codegen {

struct WinogradPlan {
  MinimalFilter h, w;
  int64_t tiles_h = 1;  ///< of a plane
  int64_t tiles_w = 1;
  // A task has `rows` x `columns` tiles, fewer at the plane's end, and one part of the panels.
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t row_chunks = 1;
  int64_t column_chunks = 1;
  int64_t panels = 1;
  int64_t parts = 1;
  int64_t part_panels = 1;
  BlockSize block;           ///< tiles x vectors of output channels
  bool weights_stay = true;  ///< in the second-level cache

  int64_t products() const { return int64_t{h.products()} * w.products(); }
  /// Tiles of a task in whole blocks.
  int64_t padded_tiles() const { return round_up(rows * columns, block.rows); }
};

/// Expects a filter for the taps of either dimension.
WinogradPlan plan_winograd(const ConvProblem& problem, const Machine& machine);

}  // namespace collage::codegen
