// SPDX-License-Identifier: Apache-2.0
// A window that slides along the rows of an output: which of its taps lie inside the input. Along planes and rows this
// is found at run time, as bounds of loops over taps; along a row when the code is made, so that no tap is tested:
//
//   5 positions, 3 taps, 1 pad on either side   =>   position 0: taps 1 2;  1 to 3: taps 0 1 2;  4: taps 0 1
#pragma once

#include <vector>

#include "compiler/codegen/generators/microkernel.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/nest/loop_nest.h"

namespace collage::codegen {

/// Positions [first, last) of a block.
struct PositionRange {
  int64_t first = 0;
  int64_t last = 0;
  bool is_empty() const { return first >= last; }
  friend bool operator==(const PositionRange&, const PositionRange&) = default;
};

/// Blocks of a row with equal code: `count` blocks of `height` positions, the first one at `position`.
struct BlockRun {
  int64_t first_block = 0;
  int64_t position = 0;
  int64_t height = 1;
  int64_t count = 1;
  std::vector<PositionRange> taps;  ///< by tap: the positions for which it lies inside the input
};

std::vector<BlockRun> block_runs(const ConvProblem& problem, const RowSplit& blocks);

/// Taps [first, last) along planes (dimension 0) or rows (1) that lie inside the input.
struct TapRange {
  Expr origin;  ///< the input's index under tap 0
  Expr first, last;
  /// One tap, always inside.
  bool is_single() const { return is_int_const(first) && is_int_const(last) && last->imm - first->imm == 1; }
};

/// For the output's index `out` along dimension `d`.
TapRange taps_inside(Nest& nest, const ConvProblem& problem, size_t d, const Expr& out);

/// A loop over the taps; none for a single one.
Expr begin_taps(Nest& nest, const char* name, const TapRange& taps);
void end_taps(Nest& nest, const TapRange& taps);

}  // namespace collage::codegen
