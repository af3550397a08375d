// SPDX-License-Identifier: Apache-2.0
// Arithmetic of tensor elements that is defined for every value: integers wrap, floats follow IEEE.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/core/narrow_float.h"

namespace collage::runtime {

/// What sums and products of T are computed in. The product of two floats is exact in a double.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double,
                                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

template <typename T>
T wrapping_add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <typename T>
T wrapping_sub(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a - b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
}

template <typename T>
T wrapping_mul(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
}

template <typename T>
bool is_nan(T x) {
  if constexpr (kIsFloat<T>) {
    return std::isnan(static_cast<double>(x));
  } else {
    return false;
  }
}

/// Orders elements upwards; NaN comes after all numbers and equals itself.
template <typename T>
bool comes_before(T a, T b) {
  return is_nan(b) ? !is_nan(a) : a < b;
}

/// The greater of two; NaN if either is.
template <typename T>
T maximum(T a, T b) {
  return a > b || is_nan(a) ? a : b;
}

/// The smaller of two; NaN if either is.
template <typename T>
T minimum(T a, T b) {
  return a < b || is_nan(a) ? a : b;
}

/// The order in which the greatest elements are looked for: a NaN is greater than every number, and equal to NaN.
/// With `greatest` false the smallest are looked for, and a NaN is still found first.
template <typename T>
bool is_more_extreme(T a, T b, bool greatest) {
  if (is_nan(a) || is_nan(b)) return is_nan(a) && !is_nan(b);
  return greatest ? a > b : a < b;
}

/// A float as T: towards zero, clamped to the range of T, NaN as 0.
template <typename T>
T saturate_to(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    // The greatest T may round up to a power of two that T cannot hold; the comparison catches it.
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  }
}

}  // namespace collage::runtime
