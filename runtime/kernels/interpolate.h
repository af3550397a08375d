// SPDX-License-Identifier: Apache-2.0
// Keys' cubic convolution kernel, shared by Resize and GridSample.
#pragma once

#include <array>

namespace collage::runtime {

/// Weight of a neighbour at distance `t` >= 0, with parameter `a`. From 2 on it is 0.
inline double cubic_weight(double t, double a) {
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/// Weights of the four neighbours at distances 1 + t, t, 1 - t, 2 - t.
inline std::array<double, 4> cubic_weights(double t, double a) {
  return {cubic_weight(1 + t, a), cubic_weight(t, a), cubic_weight(1 - t, a), cubic_weight(2 - t, a)};
}

}  // namespace collage::runtime
