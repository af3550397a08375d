// SPDX-License-Identifier: Apache-2.0
// Keys' cubic convolution kernel, shared by Resize and GridSample.
#pragma once

#include <array>

namespace collage::runtime {

/// Weights of the four neighbours at distances 1 + t, t, 1 - t, 2 - t, with parameter `a`.
inline std::array<double, 4> cubic_weights(double t, double a) {
  auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

}  // namespace collage::runtime
