// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/microkernel.h"

#include <algorithm>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {

void accumulate(Nest& nest, const std::vector<std::vector<Expr>>& sums, int first, int last, int unroll, int64_t depth,
                const BroadcastOperand& a, const VectorOperand& b, const std::vector<Prefetch>& prefetches,
                Product product) {
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
    for (const Prefetch& prefetch : prefetches) {
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
                                          const VectorOperand& b, const std::vector<Prefetch>& prefetches) {
  std::vector<std::vector<Expr>> sums(static_cast<size_t>(size.rows));
  for (auto& row : sums) {
    for (int v = 0; v < size.vectors; ++v) row.push_back(nest.variable("c", nest.zero(nest.lanes())));
  }
  accumulate(nest, sums, 0, size.rows, size.unroll, depth, a, b, prefetches);
  return sums;
}

Prefetch share_of_lines(int buffer, const Expr& next, int64_t lines, int64_t shares, const Expr& share, int64_t depth,
                        int unroll) {
  const int64_t steps = shares * depth;
  Prefetch prefetch;
  prefetch.buffer = buffer;
  prefetch.lines = ceil_div(lines, steps);
  while (steps >= 2 * prefetch.every * lines && prefetch.every < unroll) prefetch.every *= 2;
  prefetch.base = add(next, mul(share, depth / prefetch.every * prefetch.lines * kLineElements));
  return prefetch;
}

}  // namespace collage::codegen
