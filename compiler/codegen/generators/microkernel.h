// SPDX-License-Identifier: Apache-2.0
// The inner kernel of GEMM and convolution: a block of rows x vectors in registers, one loop over k of broadcast-FMAs.
#pragma once

#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/codegen/schedule/register_block.h"

namespace collage::codegen {

/// Scalars that are broadcast: element (row, k) lies at base + row * row_stride + k * k_stride.
struct BroadcastOperand {
  int buffer = -1;
  Expr base;
  int64_t row_stride = 0;
  int64_t k_stride = 0;
};

/// Vectors: vector v of step k begins at base + k * k_stride + v * lanes.
struct VectorOperand {
  int buffer = -1;
  Expr base;
  int64_t k_stride = 0;
  Expr last_mask;  ///< of the last vector; null: all lanes
};

/// Elements of a cache line.
inline constexpr int64_t kLineElements = 16;

/// A buffer's next part, prefetched while the block runs: `lines` cache lines per `every` steps of k, which divides the
/// unrolled steps or is a multiple of them.
struct Prefetch {
  int buffer = -1;
  Expr base;
  int64_t every = 1;
  int64_t lines = 1;  ///< at once
};

/// `lines` cache lines from `next` on, fetched by `shares` blocks of `depth` steps each: what number `share` of them
/// fetches.
Prefetch share_of_lines(int buffer, const Expr& next, int64_t lines, int64_t shares, const Expr& share, int64_t depth,
                        int unroll);

/// What a step of k adds: a product of floats, or those of four pairs of bytes to an i32. Then an element is four
/// bytes; the signed ones are broadcast, or they are the vectors.
enum class Product { Floats, SignedBroadcast, SignedVectors };

/// Registers that such a step needs where it is no instruction (Isa::has_vnni).
inline constexpr int kDotRegisters = 5;

/// Adds `depth` products to the sums[row][vector] of the rows [first, last): variables of the nest. Addresses count
/// from row 0.
void accumulate(Nest& nest, const std::vector<std::vector<Expr>>& sums, int first, int last, int unroll, int64_t depth,
                const BroadcastOperand& a, const VectorOperand& b, const std::vector<Prefetch>& prefetches = {},
                Product product = Product::Floats);

/// Emits the block; the sums are result[row][vector].
std::vector<std::vector<Expr>> emit_block(Nest& nest, const BlockSize& size, int64_t depth, const BroadcastOperand& a,
                                          const VectorOperand& b, const std::vector<Prefetch>& prefetches = {});

}  // namespace collage::codegen
