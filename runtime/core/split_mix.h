// SPDX-License-Identifier: Apache-2.0
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): random numbers that are the
// same on every machine. Results depend on its bits: elements of random tensors, injected faults, schedules that are
// found.
#pragma once

#include <cstddef>
#include <cstdint>

namespace collage::runtime {

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

/// SplitMix64's output function, a bijection: each bit of the result depends on all bits of `z`.
constexpr uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Number `i` of the stream `seed`, counted from 0.
constexpr uint64_t split_mix(uint64_t seed, uint64_t i) {
  return mix_bits(seed + (i + 1) * kSplitMixStep);
}

/// The top 53 bits as a fraction in [0, 1).
constexpr double fraction_of(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The numbers of a stream one after the other.
class SplitMix {
 public:
  explicit constexpr SplitMix(uint64_t seed) : state_(seed) {}
  constexpr uint64_t next() { return mix_bits(state_ += kSplitMixStep); }
  /// In 0 … bound - 1; `bound` is not 0.
  constexpr size_t below(size_t bound) { return static_cast<size_t>(next() % bound); }
  /// In [0, 1).
  constexpr double fraction() { return fraction_of(next()); }

 private:
  uint64_t state_;
};

}  // namespace collage::runtime
