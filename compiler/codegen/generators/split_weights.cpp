// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/split_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/codegen/schedule/division.h"

namespace collage::codegen {
namespace {

/// Smallest and largest magnitudes of weights: nearly any operand in use is safe with them.
constexpr float kLeastWeight = 0x1p-60F;
constexpr float kMostWeight = 0x1p40F;
/// The lowest of the 24 bits of a number from here on is normal.
constexpr float kLeastOperand = 0x1p-102F;
/// A product from here on loses less than a rounding if its parts are normal or 0.
constexpr float kLeastProduct = 0x1p-100F;
constexpr float kMostSum = 0x1p125F;

/// The upper half of what is nearest, ties away from zero.
uint32_t rounded_bits(float x) {
  return (std::bit_cast<uint32_t>(x) + 0x8000U) & 0xffff0000U;
}

}  // namespace

std::optional<SafeRange> safe_range(const WeightMatrix& weights) {
  float least = kMostWeight;
  float most = 0;
  for (int64_t k = 0; k < weights.depth; ++k) {
    for (int64_t column = 0; column < weights.columns; ++column) {
      const float size = std::abs(weights.at(k, column));
      if (size == 0) continue;
      if (!(size >= kLeastWeight && size <= kMostWeight)) return std::nullopt;
      least = std::min(least, size);
      most = std::max(most, size);
    }
  }
  SafeRange range;
  range.least = std::max(kLeastOperand, kLeastProduct / least);
  range.limit = kMostSum / (std::max(most, 1.0F) * static_cast<float>(weights.depth));
  return range;
}

runtime::Tensor split_weights(const WeightMatrix& weights, int parts, int64_t part_depth) {
  const int64_t panels = ceil_div(weights.columns, kPanelColumns);
  const int64_t steps = ceil_div(weights.depth, kStepDepth);
  const int64_t part_steps = part_depth / kStepDepth;
  runtime::Tensor packed(runtime::DType::F32, {panels * steps * parts * kStepWords});
  auto* words = reinterpret_cast<uint32_t*>(packed.data());
  std::fill_n(words, packed.count(), 0U);
  for (int64_t k = 0; k < weights.depth; ++k) {
    const int64_t step = k / kStepDepth;
    const int64_t first = step / part_steps * part_steps;  // of the part
    const int64_t own_steps = std::min(part_steps, steps - first);
    const int64_t pair = k % 16;
    const int shift = k % kStepDepth < 16 ? 16 : 0;
    for (int64_t column = 0; column < weights.columns; ++column) {
      const int64_t place = first * panels + column / kPanelColumns * own_steps + step - first;
      const int64_t tile = column % kPanelColumns / 16;
      uint32_t* word = words + place * parts * kStepWords + (tile * 16 + pair) * 16 + column % 16;
      float rest = weights.at(k, column);
      for (int part = 0; part < parts; ++part, word += kStepWords) {
        const uint32_t bits = rounded_bits(rest);
        *word |= bits >> shift;
        rest -= std::bit_cast<float>(bits);
      }
    }
  }
  return packed;
}

}  // namespace collage::codegen
