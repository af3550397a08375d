// SPDX-License-Identifier: Apache-2.0
// The two roofs under which kernels run. Multiply-adds: independent chains of a = a * b + c that never leave the
// registers, in the widest vectors of the processor unless said otherwise. Memory: sums over a buffer that no cache
// holds.
#pragma once

#include <cstdint>
#include <vector>

namespace collage::bench {

enum class Vectors {
  Widest,  ///< that the processor has
  Avx2,    ///< of 256 bits; the widest where it has none
};

/// GFLOP/s of all threads together, a multiply-add being two, over `rounds` steps of the chains (a million: about
/// 2.5 ms at 2.4 GHz).
double fma_gflops(int threads, int64_t rounds, Vectors vectors = Vectors::Widest);

/// GB/s that all threads together read from memory, once over a buffer of this many bytes.
double memory_gbs(int threads, const std::vector<uint64_t>& buffer);

}  // namespace collage::bench
