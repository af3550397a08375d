// SPDX-License-Identifier: Apache-2.0
// Prints the peak rate of the processor's f32 multiply-adds, all threads together, in GFLOP/s, as one number.
//
//   fma_peak [threads [avx2]]     with `avx2` in vectors of 256 bits, for code of `collagec --cpu=haswell`
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "bench/peaks.h"

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : omp_get_max_threads();
  const auto vectors =
      argc > 2 && std::string_view(argv[2]) == "avx2" ? collage::bench::Vectors::Avx2 : collage::bench::Vectors::Widest;
  double best = 0;
  // The first rounds raise the clock.
  for (int round = 0; round < 8; ++round)
    best = std::max(best, collage::bench::fma_gflops(threads, 8'000'000, vectors));
  fmt::print("{:.1f}\n", best);
}
