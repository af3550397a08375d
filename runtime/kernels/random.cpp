// SPDX-License-Identifier: Apache-2.0
// Random tensors: RandomNormalLike, RandomUniformLike, Bernoulli, Multinomial.
//
// Element i depends on the attribute `seed` and on i alone, so that a seed gives the same numbers everywhere: number n
// of a seed is the n-th output of SplitMix64 (Steele, Lea, Flood 2014) that starts at the mixed bits of the seed as
// f32. Without the attribute the seed is 0.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

#include "runtime/core/split_mix.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {
namespace {

class RandomNumbers {
 public:
  explicit RandomNumbers(const AttrMap& attrs)
      : start_(mix_bits(std::bit_cast<uint32_t>(static_cast<float>(attrs.get_float("seed", 0))))) {}

  /// In [0, 1), a multiple of 2^-53.
  double uniform(uint64_t n) const { return fraction_of(split_mix(start_, n)); }

  /// By Box and Muller: two uniform numbers give two normal ones.
  double normal(uint64_t n) const {
    const double radius = std::sqrt(-2 * std::log(uniform(n & ~uint64_t{1}) + 0x1p-53));
    const double angle = 2 * std::numbers::pi * uniform(n | 1);
    return radius * (n % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }

 private:
  uint64_t start_;
};

/// The next number of the dtype above or below a finite one, and below infinity.
template <typename T>
T neighbour(T x, bool is_above) {
  if constexpr (std::is_floating_point_v<T>) {
    const T end = std::numeric_limits<T>::infinity();
    return std::nextafter(x, is_above ? end : -end);
  } else {
    using Bits = typename T::Bits;
    constexpr int kSign = 1 << (T::kBits - 1);
    const auto number = static_cast<float>(x);
    if (number == 0) return T::of_bits(static_cast<Bits>(is_above ? 1 : kSign | 1));
    return T::of_bits(static_cast<Bits>(x.bits() + ((number > 0) == is_above ? 1 : -1)));  // of the magnitude
  }
}

/// A number of [low, high) in T: rounding reaches neither the end, which does not belong to the interval, nor what lies
/// before the start. Where T has no number in the interval, the nearest one.
template <typename T>
T rounded_within(double value, double low, double high) {
  const T nearest(static_cast<T>(value));
  const auto is_within = [&](T x) { return static_cast<double>(x) >= low && static_cast<double>(x) < high; };
  if (is_within(nearest) || !(high > low)) return nearest;
  const T other = neighbour(nearest, static_cast<double>(nearest) < low);
  return is_within(other) ? other : nearest;
}

/// An index with probability exp(log_odds[index]) / sum of all.
template <typename T>
int64_t choose(const T* log_odds, int64_t count, double uniform) {
  double most = static_cast<double>(log_odds[0]);
  for (int64_t i = 1; i < count; ++i) most = std::max(most, static_cast<double>(log_odds[i]));
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(log_odds[i]) - most);
  double left = uniform * sum;
  for (int64_t i = 0; i + 1 < count; ++i) {
    left -= std::exp(static_cast<double>(log_odds[i]) - most);
    if (left < 0) return i;
  }
  return count - 1;
}

}  // namespace

Status kernel_RandomNormalLike(const KernelArgs& args) {
  const RandomNumbers numbers(args.attrs);
  const double mean = args.attrs.get_float("mean", 0), scale = args.attrs.get_float("scale", 1);
  return with_float(args.outputs[0].dtype, [&]<typename T>(Type<T>) {
    auto y = args.outputs[0].as<T>();
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(mean + scale * numbers.normal(i));
    return Status::ok();
  });
}

Status kernel_RandomUniformLike(const KernelArgs& args) {
  const RandomNumbers numbers(args.attrs);
  const double low = args.attrs.get_float("low", 0), high = args.attrs.get_float("high", 1);
  const DType dtype = args.outputs[0].dtype;
  return with_element_type(dtype, [&]<typename T>(Type<T>) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      auto y = args.outputs[0].as<T>();
      for (size_t i = 0; i < y.size(); ++i) {
        y[i] = rounded_within<T>(low + (high - low) * numbers.uniform(i), low, high);
      }
      return Status::ok();
    }
    return unsupported_dtype(dtype);
  });
}

/// y[i] = 1 with probability x[i], else 0
Status kernel_Bernoulli(const KernelArgs& args) {
  const RandomNumbers numbers(args.attrs);
  return with_element_type(args.outputs[0].dtype, [&]<typename Y>(Type<Y>) {
    return with_float(args.inputs[0].dtype, [&]<typename X>(Type<X>) {
      auto x = args.inputs[0].as<X>();
      auto y = args.outputs[0].as<Y>();
      for (size_t i = 0; i < y.size(); ++i) y[i] = numbers.uniform(i) < static_cast<double>(x[i]) ? Y(1) : Y(0);
      return Status::ok();
    });
  });
}

/// x: [batch, classes]
Status kernel_Multinomial(const KernelArgs& args) {
  const RandomNumbers numbers(args.attrs);
  const int64_t classes = args.inputs[0].shape[1], samples = args.outputs[0].shape[1];
  return with_integer(args.outputs[0].dtype, [&]<typename Y>(Type<Y>) {
    return with_float(args.inputs[0].dtype, [&]<typename X>(Type<X>) {
      const X* x = args.inputs[0].as<X>().data();
      auto y = args.outputs[0].as<Y>();
      for (size_t i = 0; i < y.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) / samples;
        y[i] = static_cast<Y>(choose(x + row * classes, classes, numbers.uniform(i)));
      }
      return Status::ok();
    });
  });
}

}  // namespace collage::runtime
