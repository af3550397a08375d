// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/reference_kernel.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace collage::measure {
namespace {

using Clock = std::chrono::steady_clock;
using Vector = float __attribute__((vector_size(16)));

}  // namespace

runtime::Duration time_reference_kernel() {
  constexpr int kSteps = 1 << 14;
  const Clock::time_point start = Clock::now();
  volatile float half = 0.5F;  // so that nothing is computed when this is compiled
  const float factor = half;
  const Vector factors = {factor, factor, factor, factor};
  // In registers, and enough that none waits for its last result.
  Vector a = factors, b = factors, c = factors, d = factors, e = factors, f = factors, g = factors, h = factors;
  for (int i = 0; i < kSteps; ++i) {
    a = a * factors + factors;
    b = b * factors + factors;
    c = c * factors + factors;
    d = d * factors + factors;
    e = e * factors + factors;
    f = f * factors + factors;
    g = g * factors + factors;
    h = h * factors + factors;
  }
  const Vector all = ((a + b) + (c + d)) + ((e + f) + (g + h));
  half = all[0];
  return runtime::Duration::seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

std::string reference_key(const std::string& machine) {
  return machine + " vectors";
}

runtime::Duration usual_reference_time() {
  std::array<runtime::Duration, 21> times;
  for (runtime::Duration& time : times) time = time_reference_kernel();
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

runtime::Duration calibrate_reference_kernel() {
  constexpr int kRuns = 100;
  runtime::Duration least = runtime::Duration::max();
  for (int run = 0; run < kRuns; ++run) least = std::min(least, time_reference_kernel());
  return least;
}

}  // namespace collage::measure
