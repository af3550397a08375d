// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/reference_kernel.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace collage::measure {

runtime::Duration time_reference_kernel() {
  constexpr int kSteps = 1 << 16;
  const auto start = std::chrono::steady_clock::now();
  volatile uint64_t seed = 1;  // so that nothing is computed when this is compiled
  uint64_t value = seed;
  for (int i = 0; i < kSteps; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  seed = value;
  return runtime::Duration::seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

runtime::Duration calibrate_reference_kernel() {
  constexpr int kRuns = 50;
  runtime::Duration least = runtime::Duration::max();
  for (int run = 0; run < kRuns; ++run) least = std::min(least, time_reference_kernel());
  return least;
}

}  // namespace collage::measure
