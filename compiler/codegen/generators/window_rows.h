// SPDX-License-Identifier: Apache-2.0
// A window that slides along the rows of an output: which of its taps lie inside the input. Along planes and rows this
// is found at run time, as bounds of loops over taps; along a row when the code is made, so that no tap is tested:
//
//   5 positions, 3 taps, 1 pad on either side   =>   position 0: taps 1 2;  1 to 3: taps 0 1 2;  4: taps 0 1
#pragma once

#include <array>
#include <functional>
#include <utility>
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

/// Takes a task's number apart: `next` is the index of the innermost dimension that is left.
class TaskIndex {
 public:
  TaskIndex(Nest& nest, Expr task) : nest_(nest), rest_(std::move(task)) {}
  Expr next(const char* name, int64_t extent);
  /// The index of the outermost dimension.
  Expr last(int64_t extent) const { return extent == 1 ? int_const(0) : rest_; }

 private:
  Nest& nest_;
  Expr rest_;
};

/// Indices of the result's dimensions but the channels, of `rank` in all, for a position of the problem's output: where
/// phases write is the problem's.
std::vector<Expr> output_indices(const ConvProblem& problem, size_t rank, const Expr& image,
                                 const std::array<Expr, 3>& position);

/// A row of the output, and the input's rows under it.
class OutputRow {
 public:
  /// `first` is the input's first element of the image, and of the group's first channel.
  OutputRow(Nest& nest, const ConvProblem& problem, Expr image, Expr out_d, Expr out_h, const Expr& first);

  const TapRange& planes() const { return taps_d_; }
  const TapRange& rows() const { return taps_h_; }

  struct UnderTap {
    Expr x;    ///< the input under the position and tap w 0
    Expr tap;  ///< d * height + h
  };
  /// Loops over the taps d and h that lie inside the input; none for a single one.
  UnderTap begin_taps(const Expr& position);
  void end_taps();

  /// As `output_indices`.
  std::vector<Expr> outer(const Expr& position, size_t rank) const {
    return output_indices(p_, rank, image_, {out_d_, out_h_, position});
  }

 private:
  Nest& nest_;
  const ConvProblem& p_;
  Expr image_, out_d_, out_h_, first_;
  TapRange taps_d_, taps_h_;
};

/// Calls `emit` for each block of the runs with its first position; equal blocks are a loop.
void for_each_block(Nest& nest, const std::vector<BlockRun>& runs,
                    const std::function<void(const BlockRun& run, const Expr& position)>& emit);

/// Calls `emit` with the first channel of each vector, and the mask of the last one (null: all lanes).
void for_each_vector(Nest& nest, int64_t channels,
                     const std::function<void(const Expr& channel, const Expr& mask)>& emit);

/// What a kernel computes at once: one vector of channels in one block of positions.
struct BlockVector {
  OutputRow& row;
  const BlockRun& run;
  Expr position;  ///< the first one
  Expr channel;   ///< the first one
  Expr mask;      ///< null: all lanes
};
using EmitVector = std::function<void(const BlockVector& at)>;

/// The loops over blocks and vectors of `channels` in one row.
void for_each_vector_in_row(Nest& nest, const ConvProblem& problem, const RowSplit& blocks, int64_t channels,
                            OutputRow& row, const EmitVector& emit);

/// A kernel whose tasks are rows of the output: the loops over tasks, blocks and vectors of `channels`.
void for_each_row(Nest& nest, const ConvProblem& problem, const RowSplit& blocks, int64_t channels,
                  const EmitVector& emit);

}  // namespace collage::codegen
