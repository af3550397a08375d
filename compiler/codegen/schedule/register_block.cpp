// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/register_block.h"

#include <algorithm>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {

RowSplit split_rows(int64_t count, int64_t most) {
  RowSplit split;
  const int64_t blocks = ceil_div(count, most);
  split.rows = ceil_div(count, blocks);
  split.low = blocks * split.rows - count;
  split.tall = blocks - split.low;
  return split;
}

// A block needs r v registers for its sums, v for the vectors and one for the scalar.
int64_t tallest_block(int64_t vectors, int registers) {
  return (registers - 1 - vectors) / vectors;
}

int unroll_of(int64_t rows, int64_t vectors) {
  return rows * vectors <= 8 ? 4 : 2;
}

// The maximum of: r v / 2 (two FMA ports), (r + v) / 2 (two load ports), and 4 cycles of FMA latency if it has fewer
// than 8 sums.
double block_cycles(int64_t rows, int64_t vectors) {
  return std::max({static_cast<double>(rows * vectors) / 2, static_cast<double>(rows + vectors) / 2, 4.0}) + 0.3;
}

BlockSize block_of(int64_t rows, int64_t vectors, int registers) {
  BlockSize block;
  block.rows = static_cast<int>(split_rows(rows, tallest_block(vectors, registers)).rows);
  block.vectors = static_cast<int>(vectors);
  block.unroll = unroll_of(block.rows, block.vectors);
  return block;
}

BlockSize choose_block(int64_t rows, int64_t columns, int lanes, int registers) {
  const int64_t vectors = ceil_div(columns, lanes);
  BlockSize best;
  double least = 0;
  for (const int64_t v : {3, 2, 4, 1, 5, 6, 8}) {
    if (v > vectors && v != 1) continue;
    const int64_t tallest = tallest_block(v, registers);
    if (tallest < 1) continue;
    const RowSplit split = split_rows(rows, tallest);
    const auto column = [&](int64_t w) {
      if (w == 0) return 0.0;
      double sum = static_cast<double>(split.tall) * block_cycles(split.rows, w);
      if (split.low > 0) sum += static_cast<double>(split.low) * block_cycles(split.rows - 1, w);
      return sum;
    };
    const double cost = static_cast<double>(vectors / v) * column(v) + column(vectors % v);
    if (least == 0 || cost < least * 0.98) {
      least = cost;
      best = block_of(rows, v, registers);
    }
  }
  return best;
}

}  // namespace collage::codegen
