// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform of one line, in double.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace collage::runtime {

/// y[k] = sum over n of x[n] exp(-2 pi i k n / N), with exp(+…) if `inverse`, not scaled. Any length, in N log N steps.
class FourierTransform {
 public:
  using Line = std::vector<std::complex<double>>;

  FourierTransform(size_t length, bool inverse);

  /// `line` has the length of the transform.
  void apply(Line* line) const;

 private:
  void apply_power_of_two(Line* line, bool conjugate) const;

  size_t length_;
  bool inverse_;
  size_t padded_;  ///< `length_`, or the power of two in which a chirp of that length is convolved
  Line roots_;     ///< exp(-2 pi i k / padded_)
  Line chirp_;     ///< exp(-+pi i n^2 / length_); empty where the length is a power of two
  Line filter_;    ///< transform of the conjugate chirp
};

}  // namespace collage::runtime
