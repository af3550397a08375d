// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/random.h"

#include <cmath>
#include <memory>
#include <span>

#include "runtime/core/split_mix.h"

namespace collage::runtime {
namespace {

/// Elements from the index `first` on.
struct RandomStream {
  uint64_t seed, first;
};

/// `low` and `high` are integers, less than 2^32 apart.
template <typename T>
void fill_random_ints(std::span<T> elements, RandomStream from, double low, double high) {
  const uint64_t width = static_cast<uint64_t>(high - low) + 1;
  const auto least = static_cast<int64_t>(low);
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto step = static_cast<int64_t>(((split_mix(from.seed, from.first + i) >> 32) * width) >> 32);
    elements[i] = static_cast<T>(least + step);
  }
}

struct RandomBounds {
  double low, width;
};

/// The top 24 (53) bits are an exact fraction in [0, 1). Rounds once, so that every machine computes the same.
template <typename Float>
[[gnu::always_inline]] inline void fill_fractions(std::span<Float> elements, RandomStream from, RandomBounds bounds) {
  constexpr int kBits = sizeof(Float) == 4 ? 24 : 53;
  constexpr double kUnit = kBits == 24 ? 0x1p-24 : 0x1p-53;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto top = static_cast<int64_t>(split_mix(from.seed, from.first + i) >>
                                          (64 - kBits));  // converts faster than unsigned ones
    const double fraction = static_cast<double>(top) * kUnit;
    elements[i] = static_cast<Float>(std::fma(bounds.width, fraction, bounds.low));
  }
}

#if defined(__x86_64__)
/// With the instruction, `fma` is no call.
template <typename Float>
[[gnu::target("fma")]] void fill_fractions_by_fma(std::span<Float> elements, RandomStream from, RandomBounds bounds) {
  fill_fractions(elements, from, bounds);
}
#endif

template <typename Float>
void fill_random_floats(std::span<Float> elements, RandomStream from, RandomBounds bounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) return fill_fractions_by_fma(elements, from, bounds);
#endif
  fill_fractions(elements, from, bounds);
}

template <typename T>
void fill_random(std::span<T> elements, RandomStream from, double low, double high) {
  if constexpr (kIsFloat<T>) {
    fill_random_floats(elements, from, RandomBounds{low, high - low});
  } else {
    fill_random_ints(elements, from, low, high);
  }
}

class RandomSource final : public ElementSource {
 public:
  RandomSource(DType dtype, uint64_t seed, double low, double high)
      : dtype_(dtype), seed_(seed), low_(low), high_(high) {}

  void write(int64_t first, std::span<std::byte> to) const override {
    const auto count = static_cast<int64_t>(to.size() / size_of(dtype_));
    const TensorView view{dtype_, {count}, to.data()};
    with_element_type(dtype_, [&]<typename T>(Type<T>) {
      fill_random(view.as<T>(), {seed_, static_cast<uint64_t>(first)}, low_, high_);
    });
  }
  bool makes_same(const ElementSource& other) const override {
    const auto* random = dynamic_cast<const RandomSource*>(&other);
    return random != nullptr && dtype_ == random->dtype_ && seed_ == random->seed_ && low_ == random->low_ &&
           high_ == random->high_;
  }

 private:
  DType dtype_;
  uint64_t seed_;
  double low_, high_;
};

}  // namespace

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  Tensor tensor(dtype, shape);
  with_element_type(dtype, [&]<typename T>(Type<T>) { fill_random(tensor.as<T>(), {seed, 0}, low, high); });
  return tensor;
}

Tensor late_random_tensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  return Tensor(dtype, shape, std::make_shared<const RandomSource>(dtype, seed, low, high));
}

}  // namespace collage::runtime
