// SPDX-License-Identifier: Apache-2.0
#include "bench/peaks.h"

#include <omp.h>

#include <chrono>

namespace collage::bench {
namespace {

/// More chains than latency times throughput asks for (4 cycles, 2 a cycle), fewer than there are registers.
constexpr int kChains = 12;

/// The body of a function that returns how many operations it did. A macro, because a template would be compiled for
/// the baseline and split its vectors; named variables, because an array would be kept in memory.
#define COLLAGE_CHAINS(Vector)                                                             \
  Vector a0 = seed, a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3, a4 = a0 + 4, a5 = a0 + 5;       \
  Vector a6 = a0 + 6, a7 = a0 + 7, a8 = a0 + 8, a9 = a0 + 9, a10 = a0 + 10, a11 = a0 + 11; \
  const Vector b = seed * 0 + 0.999F, c = seed * 0 + 0.001F;                               \
  for (int64_t i = 0; i < rounds; ++i) {                                                   \
    a0 = a0 * b + c, a1 = a1 * b + c, a2 = a2 * b + c, a3 = a3 * b + c, a4 = a4 * b + c;   \
    a5 = a5 * b + c, a6 = a6 * b + c, a7 = a7 * b + c, a8 = a8 * b + c, a9 = a9 * b + c;   \
    a10 = a10 * b + c, a11 = a11 * b + c;                                                  \
  }                                                                                        \
  *sink = (a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11)[0];                \
  return 2.0 * static_cast<double>(rounds) * kChains * (sizeof(Vector) / sizeof(float))

using Vector128 = float __attribute__((vector_size(16)));
double chains_baseline(int64_t rounds, float start, float* sink) {
  Vector128 seed = Vector128{} + start;
  COLLAGE_CHAINS(Vector128);
}

#if defined(__x86_64__)
using Vector256 = float __attribute__((vector_size(32)));
using Vector512 = float __attribute__((vector_size(64)));
__attribute__((target("avx2,fma"))) double chains_avx2(int64_t rounds, float start, float* sink) {
  Vector256 seed = Vector256{} + start;
  COLLAGE_CHAINS(Vector256);
}
__attribute__((target("avx512f"))) double chains_avx512(int64_t rounds, float start, float* sink) {
  Vector512 seed = Vector512{} + start;
  COLLAGE_CHAINS(Vector512);
}
#endif

using Chains = double (*)(int64_t, float, float*);
Chains choose_chains([[maybe_unused]] Vectors vectors) {
#if defined(__x86_64__)
  if (vectors == Vectors::Widest && __builtin_cpu_supports("avx512f")) return chains_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return chains_avx2;
#endif
  return chains_baseline;
}

}  // namespace

double fma_gflops(int threads, int64_t rounds, Vectors vectors) {
  Chains chains = choose_chains(vectors);
  double flops = 0;
  auto start = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads) reduction(+ : flops)
  {
    volatile float result = 0;
    float sink = 0;
    flops += chains(rounds, static_cast<float>(omp_get_thread_num()), &sink);
    result = sink;
    static_cast<void>(result);
  }
  return flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 1e9;
}

double memory_gbs(int threads, const std::vector<uint64_t>& buffer) {
  uint64_t sum = 0;
  auto start = std::chrono::steady_clock::now();
#pragma omp parallel for simd num_threads(threads) reduction(+ : sum) schedule(static)
  for (size_t i = 0; i < buffer.size(); ++i) sum += buffer[i];
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  volatile uint64_t result = sum;
  static_cast<void>(result);
  return static_cast<double>(buffer.size() * sizeof(uint64_t)) / seconds / 1e9;
}

}  // namespace collage::bench
