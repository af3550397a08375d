// SPDX-License-Identifier: Apache-2.0
// The block of sums that the inner loop of GEMM and convolution keeps in registers: rows x vectors of columns.
#pragma once

#include <cstdint>

namespace collage::codegen {

struct BlockSize {
  int rows = 1;
  int vectors = 1;
  int unroll = 1;  ///< steps of k
};

/// `count` rows in blocks of nearly equal height: first `tall` blocks of `rows`, then `low` blocks of `rows` - 1.
/// 128 rows, at most 9 => 8 blocks of 9 and 7 of 8.
struct RowSplit {
  int64_t rows = 1;
  int64_t tall = 0;
  int64_t low = 0;

  int64_t blocks() const { return tall + low; }
  int64_t first_row(int64_t block) const { return block * rows - (block > tall ? block - tall : 0); }
};
RowSplit split_rows(int64_t count, int64_t most);

/// Most rows of a block with this many vectors; below 1: the registers do not suffice.
int64_t tallest_block(int64_t vectors, int registers);

/// Steps of k in one round of the loop.
int unroll_of(int64_t rows, int64_t vectors);

/// Cycles per step of k of a register block, estimated.
double block_cycles(int64_t rows, int64_t vectors);

/// The tallest block for `rows` with this many vectors; there must be registers for one row.
BlockSize block_of(int64_t rows, int64_t vectors, int registers);

/// Chooses the register block with the fewest estimated cycles for a result of `rows` x `columns`.
BlockSize choose_block(int64_t rows, int64_t columns, int lanes, int registers);

}  // namespace collage::codegen
