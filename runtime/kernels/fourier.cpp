// SPDX-License-Identifier: Apache-2.0
// Powers of two by Cooley and Tukey's splitting; other lengths by Bluestein's: with k n = (k^2 + n^2 - (k - n)^2) / 2
// the transform is a convolution with a chirp, which transforms of a power of two compute.
#include "runtime/kernels/fourier.h"

#include <bit>
#include <numbers>
#include <utility>

namespace collage::runtime {
namespace {

std::complex<double> root_of_unity(size_t k, size_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

}  // namespace

FourierTransform::FourierTransform(size_t length, bool inverse)
    : length_(length), inverse_(inverse), padded_(std::bit_ceil(length)) {
  if (padded_ != length) padded_ = std::bit_ceil(2 * length - 1);
  for (size_t k = 0; k < padded_ / 2; ++k) roots_.push_back(root_of_unity(k, padded_));
  if (padded_ == length) return;
  for (size_t n = 0; n < length; ++n) {
    // n^2 modulo 2 N, so that the angle stays small and exact.
    std::complex<double> turn = root_of_unity(n * n % (2 * length), 2 * length);
    chirp_.push_back(inverse ? std::conj(turn) : turn);
  }
  filter_.assign(padded_, 0.0);
  for (size_t n = 0; n < length; ++n) filter_[n] = filter_[(padded_ - n) % padded_] = std::conj(chirp_[n]);
  apply_power_of_two(&filter_, false);
}

void FourierTransform::apply_power_of_two(Line* line, bool conjugate) const {
  Line& x = *line;
  const size_t n = x.size();
  // Elements in the order of their reversed bits.
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j |= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t width = 2; width <= n; width *= 2) {
    const size_t step = n / width;
    for (size_t start = 0; start < n; start += width) {
      for (size_t k = 0; k < width / 2; ++k) {
        const std::complex<double> root = conjugate ? std::conj(roots_[k * step]) : roots_[k * step];
        const std::complex<double> even = x[start + k], odd = root * x[start + k + width / 2];
        x[start + k] = even + odd;
        x[start + k + width / 2] = even - odd;
      }
    }
  }
}

void FourierTransform::apply(Line* line) const {
  if (chirp_.empty()) return apply_power_of_two(line, inverse_);
  Line product(padded_, 0.0);
  for (size_t n = 0; n < length_; ++n) product[n] = (*line)[n] * chirp_[n];
  apply_power_of_two(&product, false);
  for (size_t k = 0; k < padded_; ++k) product[k] *= filter_[k];
  apply_power_of_two(&product, true);
  for (size_t k = 0; k < length_; ++k) (*line)[k] = product[k] * chirp_[k] / static_cast<double>(padded_);
}

}  // namespace collage::runtime
