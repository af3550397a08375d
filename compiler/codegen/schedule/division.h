// SPDX-License-Identifier: Apache-2.0
// Whole parts: how many there are, and how much they hold together.
#pragma once

#include <cstdint>

namespace collage::codegen {

/// Rounds the quotient up; `b` is positive.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -((-a) / b);
}

/// `count` rounded up to a multiple of `unit`: channels in whole vectors.
constexpr int64_t round_up(int64_t count, int64_t unit) {
  return ceil_div(count, unit) * unit;
}

}  // namespace collage::codegen
