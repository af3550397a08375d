// SPDX-License-Identifier: Apache-2.0
// Integers of 2 and 4 bits as C++ types, one to a byte in memory. Files pack them: `runtime/io/element_formats.h`.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace collage::runtime {

template <int Width, bool IsSigned>
class NarrowInteger {
 public:
  static constexpr int kBits = Width;
  static constexpr int kLowest = IsSigned ? -(1 << (Width - 1)) : 0;
  static constexpr int kGreatest = IsSigned ? (1 << (Width - 1)) - 1 : (1 << Width) - 1;

  NarrowInteger() = default;
  /// Wraps: keeps the low bits of the number, a float rounded towards zero.
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  explicit NarrowInteger(Number value) : value_(wrapped(static_cast<uint64_t>(static_cast<int64_t>(value)))) {}

  operator int() const { return value_; }  // NOLINT(google-explicit-constructor): exact

 private:
  static int8_t wrapped(uint64_t bits) {
    const int low = static_cast<int>(bits & ((1U << Width) - 1));
    return static_cast<int8_t>(low > kGreatest ? low - (1 << Width) : low);
  }

  int8_t value_ = 0;
};

using Int4 = NarrowInteger<4, true>;
using UInt4 = NarrowInteger<4, false>;
using Int2 = NarrowInteger<2, true>;
using UInt2 = NarrowInteger<2, false>;

template <typename T>
inline constexpr bool kIsNarrowInteger = false;
template <int Width, bool IsSigned>
inline constexpr bool kIsNarrowInteger<NarrowInteger<Width, IsSigned>> = true;

}  // namespace collage::runtime

template <typename T>
  requires collage::runtime::kIsNarrowInteger<T>
struct std::numeric_limits<T> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_integer = true;
  static constexpr bool is_signed = T::kLowest < 0;
  static constexpr bool has_infinity = false;
  static constexpr int digits = T::kBits - (is_signed ? 1 : 0);
  static T min() { return T(T::kLowest); }
  static T lowest() { return T(T::kLowest); }
  static T max() { return T(T::kGreatest); }
};
