// SPDX-License-Identifier: Apache-2.0
// f32 as a sum of bf16 numbers, and the constant side of a product in this form.
//
//     x = hi + mid + lo      hi is x rounded to bf16, mid what is left rounded, lo the rest: 3 x 8 bits are all 24
//
// The parts of a product's operands make nine products; those of two small parts are below the rounding of the sum.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/core/tensor.h"

namespace collage::codegen {

/// The constant operand: `columns` of `depth` weights each.
struct WeightMatrix {
  int64_t depth = 1;
  int64_t columns = 1;
  std::function<float(int64_t k, int64_t column)> at;
};

/// Elements of the other operand for which products of parts are as exact as they seem: 0, and least <= |x| < limit.
/// Below, parts or products are denormal, which tiles take for 0; above, or with NaN, a sum of parts is another special
/// value.
struct SafeRange {
  float least = 0;
  float limit = 0;
};

/// Returns nullopt where some weight is no number, or the weights are so small or large that hardly any operand is
/// safe.
std::optional<SafeRange> safe_range(const WeightMatrix& weights);

inline constexpr int64_t kPanelColumns = 32;  ///< two tiles
inline constexpr int64_t kStepDepth = 32;     ///< bf16 in a row of a tile
/// Words of two bf16 in one part of a panel's step: two tiles of 16 x 16.
inline constexpr int64_t kStepWords = kStepDepth * kPanelColumns / 2;

/// The weights as [part of k][panel][step][`parts` of the split][tile][pair][column], padded with zeros. A pair is k
/// and k + 16 of its step, the lower k in the lower half of the word: so the other operand is packed without a shuffle.
/// Each part of k has `part_depth`, whole steps.
runtime::Tensor split_weights(const WeightMatrix& weights, int parts, int64_t part_depth);

}  // namespace collage::codegen
