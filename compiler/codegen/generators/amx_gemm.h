// SPDX-License-Identifier: Apache-2.0
// Products of f32 matrices on AMX, whose tiles multiply bf16 and add f32: both operands are split (split_weights.h),
// and of their parts the products that count are summed in tiles, the small ones of all steps first:
//
//     three parts   lo hi', mid hi', mid mid', hi mid', hi lo', hi hi'     error as of a sum of f32
//     two parts     lo hi', hi lo', hi hi'                                 Numerics::Fast: 2^-14 of a product at most
//
// Weights are split when compiled. A task is a chunk of rows and a group of panels of columns. Part by part of k it
// splits its rows into scratch memory, which then stays in the second-level cache while the weights pass by once. Sums
// of a block of two tiles of rows and a panel wait in scratch memory from one part to the next.
//
// A block with an element that is not safe for parts (`SafeRange`; Inf and NaN among them) takes fused multiply-adds
// instead, with weights that its parts give back exactly, and stays with them: its sums may be special by then.
#pragma once

#include <functional>
#include <optional>

#include "compiler/codegen/generators/split_weights.h"
#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Dense rows of `weights.depth` elements each, times weights.
struct AmxProduct {
  int64_t rows = 1;
  ir::ValueId operand;
  WeightMatrix weights;
  SafeRange safe;
};

/// Stores sums of neighbouring columns; the mask, if there is one, excludes those after the last.
using SumSink = std::function<void(const Expr& row, const Expr& column, const Expr& sum, const Expr& mask)>;

KernelSketch generate_amx_gemm(KernelBuilder& builder, const AmxProduct& product, const SumSink& finish);

}  // namespace collage::codegen
