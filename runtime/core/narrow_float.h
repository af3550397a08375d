// SPDX-License-Identifier: Apache-2.0
// Floats of 4, 8 and 16 bits as C++ types: sign, exponent, mantissa, as IEEE 754 and the OCP and ONNX formats define
// them. They convert to float exactly, and from numbers with one rounding, to nearest and ties to even.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace collage::runtime {

/// What the patterns beside the finite numbers mean.
enum class FloatSpecials {
  Ieee,    ///< the greatest exponent: infinities and NaNs
  OneNan,  ///< the greatest pattern of each sign is NaN; no infinity
  NoZero,  ///< the pattern of -0 is NaN; no infinity, no -0
  None     ///< finite numbers only
};

/// A number as a double that rounds to 40 bits or fewer as the number itself does: what a double cannot hold of an
/// integer is kept as a last bit that is not 0.
template <typename Number>
  requires std::is_arithmetic_v<Number>
constexpr double to_be_rounded(Number value) {
  if constexpr (std::is_integral_v<Number> && sizeof(Number) == 8) {
    constexpr uint64_t kLost = (1U << (64 - std::numeric_limits<double>::digits)) - 1;
    const bool is_negative = value < 0;
    const uint64_t magnitude = is_negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> std::numeric_limits<double>::digits != 0) {
      const auto kept = static_cast<double>((magnitude & ~kLost) | ((magnitude & kLost) != 0 ? kLost + 1 : 0));
      return is_negative ? -kept : kept;
    }
  }
  return static_cast<double>(value);
}

/// `Exponent` and `Mantissa` are numbers of bits; a number is 2^(exponent - Bias) * 1.mantissa.
template <int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
class NarrowFloat {
  static constexpr uint32_t kSignBit = 1U << (Exponent + Mantissa);
  static constexpr uint32_t kMagnitude = kSignBit - 1;
  static constexpr uint32_t kMantissaMask = (1U << Mantissa) - 1;
  static constexpr uint32_t kInfinity = kMagnitude & ~kMantissaMask;  ///< of Ieee
  static constexpr uint32_t kGreatest = Specials == FloatSpecials::Ieee     ? kInfinity - 1
                                        : Specials == FloatSpecials::OneNan ? kMagnitude - 1
                                                                            : kMagnitude;
  static constexpr uint32_t kOverflow = Specials == FloatSpecials::NoZero ? kSignBit
                                        : Specials == FloatSpecials::None ? kGreatest
                                                                          : kGreatest + 1;

 public:
  using Bits = std::conditional_t<(Exponent + Mantissa > 7), uint16_t, uint8_t>;
  static constexpr int kBits = 1 + Exponent + Mantissa;
  static constexpr int kSignificand = Mantissa + 1;
  static constexpr bool kHasInfinity = Specials == FloatSpecials::Ieee;

  static constexpr int kGreatestExponent = static_cast<int>(kGreatest >> Mantissa) - Bias;

  NarrowFloat() = default;
  /// Beyond the greatest number: infinity; without one, NaN; without that, the greatest number.
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  explicit NarrowFloat(Number value) : bits_(encode(to_be_rounded(value), kOverflow)) {}

  /// As the constructor, but beyond the greatest number, and for infinity, the greatest number.
  static NarrowFloat saturated(double value) { return of_bits(encode(value, kGreatest)); }

  static NarrowFloat of_bits(Bits bits) {
    NarrowFloat result;
    result.bits_ = bits;
    return result;
  }
  Bits bits() const { return bits_; }

  operator float() const {  // NOLINT(google-explicit-constructor): exact
    constexpr int kShift = 23 - Mantissa;
    const uint32_t sign = static_cast<uint32_t>(bits_ >> (kBits - 1)) << 31;
    const uint32_t magnitude = bits_ & kMagnitude;
    if (is_nan()) return std::bit_cast<float>(sign | 0x7fc00000U | (magnitude & kMantissaMask) << kShift);
    if (kHasInfinity && magnitude == kInfinity) return std::bit_cast<float>(sign | 0x7f800000U);
    // Read as a float, the exponent is too small by the difference of the biases. Denormals become normal too.
    constexpr float kScale = std::bit_cast<float>(static_cast<uint32_t>(127 + 127 - Bias) << 23);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << kShift) * kScale));
  }

  bool is_nan() const {
    const uint32_t magnitude = bits_ & kMagnitude;
    switch (Specials) {
      case FloatSpecials::Ieee: return magnitude > kInfinity;
      case FloatSpecials::OneNan: return magnitude == kMagnitude;
      case FloatSpecials::NoZero: return bits_ == kSignBit;
      case FloatSpecials::None: break;
    }
    return false;
  }

 private:
  /// `overflow`: the pattern, without its sign, of what is beyond the greatest number.
  static Bits encode(double value, uint32_t overflow) {
    constexpr uint64_t kDoubleMantissa = (uint64_t{1} << 52) - 1;
    constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << 52;
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto sign = static_cast<uint32_t>(bits >> 63) << (kBits - 1);
    const uint64_t magnitude = bits & INT64_MAX;
    if (magnitude > kDoubleInfinity) return nan_of(sign, magnitude);
    const int64_t exponent = static_cast<int64_t>(magnitude >> 52) - 1023 + Bias;
    if (exponent > (1 << Exponent)) return with_sign(sign, overflow);
    uint64_t units = magnitude & kDoubleMantissa;
    int shift = 52 - Mantissa;
    if (exponent > 0) {
      units |= static_cast<uint64_t>(exponent) << 52;  // a carry out of the mantissa is the next exponent
    } else {
      if (shift + 1 - exponent > 60) return with_sign(sign, 0);
      units |= uint64_t{1} << 52;  // its leading one is written out: below the smallest normal
      shift += static_cast<int>(1 - exponent);
    }
    units += (uint64_t{1} << (shift - 1)) - 1 + ((units >> shift) & 1);
    const uint64_t rounded = units >> shift;
    return with_sign(sign, rounded > kGreatest ? overflow : static_cast<uint32_t>(rounded));
  }

  static Bits with_sign(uint32_t sign, uint32_t magnitude) {
    // The only NaN is the pattern of -0.
    if (Specials == FloatSpecials::NoZero && (magnitude == 0 || magnitude == kSignBit)) sign = 0;
    return static_cast<Bits>(sign | magnitude);
  }

  /// A NaN keeps the leading bits of its mantissa. Where there is none, it becomes -0, as ONNX's data has it.
  static Bits nan_of(uint32_t sign, uint64_t magnitude) {
    switch (Specials) {
      case FloatSpecials::Ieee:
        return static_cast<Bits>(sign | kInfinity | 1U << (Mantissa - 1) |
                                 (static_cast<uint32_t>(magnitude >> (52 - Mantissa)) & kMantissaMask));
      case FloatSpecials::OneNan: return static_cast<Bits>(sign | kMagnitude);
      case FloatSpecials::NoZero: return static_cast<Bits>(kSignBit);
      case FloatSpecials::None: break;
    }
    return static_cast<Bits>(kSignBit);
  }

  Bits bits_ = 0;
};

using Half = NarrowFloat<5, 10, 15, FloatSpecials::Ieee>;
using BFloat16 = NarrowFloat<8, 7, 127, FloatSpecials::Ieee>;
using Float8E4M3FN = NarrowFloat<4, 3, 7, FloatSpecials::OneNan>;
using Float8E4M3FNUZ = NarrowFloat<4, 3, 8, FloatSpecials::NoZero>;
using Float8E5M2 = NarrowFloat<5, 2, 15, FloatSpecials::Ieee>;
using Float8E5M2FNUZ = NarrowFloat<5, 2, 16, FloatSpecials::NoZero>;
using Float4E2M1 = NarrowFloat<2, 1, 1, FloatSpecials::None>;

/// How a number between two powers becomes one of them.
enum class PowerRounding { Up, Down, Nearest };

/// A power of two, 2^(bits - 127); the pattern 255 is NaN. No sign, no zero.
class Float8E8M0 {
 public:
  using Bits = uint8_t;
  static constexpr int kBits = 8;
  static constexpr int kSignificand = 1;
  static constexpr int kGreatestExponent = 127;
  static constexpr bool kHasInfinity = false;

  Float8E8M0() = default;
  /// The nearest power, of ties the greater one; NaN for what is out of range.
  template <typename Number>
    requires std::is_arithmetic_v<Number>
  explicit Float8E8M0(Number value) : bits_(encode(static_cast<double>(value), PowerRounding::Nearest, false)) {}

  static Float8E8M0 rounded(double value, PowerRounding rounding, bool saturates) {
    return of_bits(encode(value, rounding, saturates));
  }
  static Float8E8M0 saturated(double value) { return rounded(value, PowerRounding::Nearest, true); }

  static Float8E8M0 of_bits(Bits bits) {
    Float8E8M0 result;
    result.bits_ = bits;
    return result;
  }
  Bits bits() const { return bits_; }
  bool is_nan() const { return bits_ == kNan; }

  operator float() const {  // NOLINT(google-explicit-constructor): exact
    if (is_nan()) return std::numeric_limits<float>::quiet_NaN();
    return bits_ == 0 ? 0x1p-127F : std::bit_cast<float>(static_cast<uint32_t>(bits_) << 23);
  }

 private:
  static constexpr Bits kNan = 255;
  static constexpr Bits kGreatest = 254;

  static Bits encode(double value, PowerRounding rounding, bool saturates) {
    if (!(value >= 0)) return kNan;  // NaN, and negative numbers, which no power represents
    if (value < 0x1p-127) return saturates ? 0 : kNan;
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto power = static_cast<int>(bits >> 52) - 1023 + 127;
    const uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
    const bool is_up = rounding == PowerRounding::Up        ? mantissa > 0
                       : rounding == PowerRounding::Nearest ? mantissa >= uint64_t{1} << 51
                                                            : false;
    const int result = power + (is_up ? 1 : 0);
    return result <= kGreatest ? static_cast<Bits>(result) : saturates ? kGreatest : kNan;
  }

  Bits bits_ = 0;
};

template <typename T>
inline constexpr bool kIsNarrowFloat = false;
template <int Exponent, int Mantissa, int Bias, FloatSpecials Specials>
inline constexpr bool kIsNarrowFloat<NarrowFloat<Exponent, Mantissa, Bias, Specials>> = true;
template <>
inline constexpr bool kIsNarrowFloat<Float8E8M0> = true;

/// Returns whether elements are floats, of C++ itself or narrow.
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsNarrowFloat<T>;

}  // namespace collage::runtime

template <typename T>
  requires collage::runtime::kIsNarrowFloat<T>
struct std::numeric_limits<T> {
  static constexpr bool is_specialized = true;
  static constexpr bool is_integer = false;
  static constexpr bool has_infinity = T::kHasInfinity;
  static constexpr int digits = T::kSignificand;
  static constexpr int max_exponent = T::kGreatestExponent + 1;
};
