// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/microkernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::codegen {

void accumulate(Nest& nest, const std::vector<std::vector<Expr>>& sums, int first, int last, int unroll, int64_t depth,
                const BroadcastOperand& a, const VectorOperand& b, const Prefetch& prefetch, Product product) {
  const int lanes = nest.lanes();
  const auto count = static_cast<int>(sums.front().size());
  auto step = [&](const Expr& k) {
    std::vector<Expr> vectors;
    for (int v = 0; v < count; ++v) {
      Expr index = add(b.base, add(mul(k, b.k_stride), static_cast<int64_t>(v) * lanes));
      bool masked = v == count - 1 && b.last_mask;
      vectors.push_back(nest.let("b", load(b.buffer, index, lanes, masked ? b.last_mask : nullptr)));
    }
    for (int r = first; r < last; ++r) {
      Expr index = add(a.base, add(mul(k, a.k_stride), r * a.row_stride));
      Expr scalar = nest.let("a", splat(load(a.buffer, index, 1), lanes));
      for (size_t v = 0; v < vectors.size(); ++v) {
        const Expr& sum = sums[static_cast<size_t>(r)][v];
        switch (product) {
          case Product::Floats: nest.set(sum, fma(scalar, vectors[v], sum)); break;
          case Product::SignedBroadcast: nest.set(sum, nest.dot4(sum, vectors[v], scalar)); break;
          case Product::SignedVectors: nest.set(sum, nest.dot4(sum, scalar, vectors[v])); break;
        }
      }
    }
  };
  int64_t unrolled = depth / unroll * unroll;
  if (unrolled > 0) {
    Expr k = nest.begin_for("k", int_const(0), int_const(unrolled), unroll);
    if (prefetch.buffer >= 0) {
      const int64_t lines = std::max<int64_t>(1, unroll / prefetch.every) * prefetch.lines;
      for (int64_t line = 0; line < lines; ++line) {
        const Expr at = add(mul(div(k, prefetch.every), prefetch.lines), line);
        nest.prefetch(prefetch.buffer, add(prefetch.base, mul(at, kLineElements)));
      }
    }
    for (int u = 0; u < unroll; ++u) step(add(k, u));
    nest.end_for();
  }
  for (int64_t k = unrolled; k < depth; ++k) step(int_const(k));
}

std::vector<std::vector<Expr>> emit_block(Nest& nest, const BlockSize& size, int64_t depth, const BroadcastOperand& a,
                                          const VectorOperand& b, const Prefetch& prefetch) {
  std::vector<std::vector<Expr>> sums(static_cast<size_t>(size.rows));
  for (auto& row : sums) {
    for (int v = 0; v < size.vectors; ++v) row.push_back(nest.variable("c", nest.zero(nest.lanes())));
  }
  accumulate(nest, sums, 0, size.rows, size.unroll, depth, a, b, prefetch);
  return sums;
}

Prefetch share_of_lines(int buffer, const Expr& next, int64_t lines, int64_t shares, const Expr& share, int64_t depth,
                        int unroll) {
  const int64_t steps = shares * depth;
  Prefetch prefetch;
  prefetch.buffer = buffer;
  prefetch.lines = (lines + steps - 1) / steps;
  while (steps >= 2 * prefetch.every * lines && prefetch.every < unroll) prefetch.every *= 2;
  prefetch.base = add(next, mul(share, depth / prefetch.every * prefetch.lines * kLineElements));
  return prefetch;
}

RowSplit split_rows(int64_t count, int64_t most) {
  RowSplit split;
  int64_t blocks = (count + most - 1) / most;
  split.rows = (count + blocks - 1) / blocks;
  split.low = blocks * split.rows - count;
  split.tall = blocks - split.low;
  return split;
}

BlockSize block_of(int64_t rows, int64_t vectors, int registers) {
  BlockSize block;
  block.rows = static_cast<int>(split_rows(rows, (registers - 1 - vectors) / vectors).rows);
  block.vectors = static_cast<int>(vectors);
  block.unroll = block.rows * block.vectors <= 8 ? 4 : 2;
  return block;
}

// Per step of k a block of r x v costs the maximum of: r v / 2 (two FMA ports), (r + v) / 2 (two load ports), and 4
// cycles of FMA latency if it has fewer than 8 sums. It needs r v + v + 1 registers.
BlockSize choose_block(int64_t rows, int64_t columns, int lanes, int registers) {
  int64_t vectors = (columns + lanes - 1) / lanes;
  BlockSize best;
  double least = 0;
  for (int v : {3, 2, 4, 1, 5, 6, 8}) {
    if (v > vectors && v != 1) continue;
    int64_t tallest = (registers - 1 - v) / v;
    if (tallest < 1) continue;
    RowSplit split = split_rows(rows, tallest);
    auto cycles = [](int64_t r, int64_t w) {
      auto product = static_cast<double>(r * w);
      return std::max({product / 2, static_cast<double>(r + w) / 2, 4.0}) + 0.3;
    };
    auto column = [&](int64_t w) {
      if (w == 0) return 0.0;
      double sum = static_cast<double>(split.tall) * cycles(split.rows, w);
      if (split.low > 0) sum += static_cast<double>(split.low) * cycles(split.rows - 1, w);
      return sum;
    };
    double cost = static_cast<double>(vectors / v) * column(v) + column(vectors % v);
    if (least == 0 || cost < least * 0.98) {
      least = cost;
      best = block_of(rows, v, registers);
    }
  }
  return best;
}

}  // namespace collage::codegen
