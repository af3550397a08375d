// SPDX-License-Identifier: Apache-2.0
// Parallel loops: on workers (pool/workers.h), or as OpenMP runs them. oneDNN and OpenBLAS use OpenMP, too.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/core/status.h"
#include "runtime/pool/range_function.h"

namespace collage::runtime {

class Workers;

/// Most threads that a program can ask for.
inline constexpr int kMostThreads = 1024;

/// Runs [0, extent) on at most `threads` threads in contiguous chunks, none shorter than `grain` unless there is only
/// one; each thread takes several of them, one after another. The chunks depend on the arguments only; which thread
/// takes one does not. One part runs on the caller's thread, without the pool. An exception in a chunk becomes the
/// failure; the others still run. Without `workers` on OpenMP's threads; otherwise on those, as many as they are.
Status parallel_for_raw(int64_t extent, int64_t grain, int threads, RangeFunction function, void* context,
                        Workers* workers = nullptr);

/// The same for any callable `body(begin, end, part)`.
template <typename Body>
Status parallel_for(int64_t extent, int64_t grain, int threads, Body&& body, Workers* workers = nullptr) {
  using Callable = std::remove_reference_t<Body>;
  RangeFunction call = [](void* context, int64_t begin, int64_t end, int part) {
    (*static_cast<Callable*>(context))(begin, end, part);
  };
  return parallel_for_raw(extent, grain, threads, call, const_cast<void*>(static_cast<const void*>(&body)), workers);
}

/// While it lives, parallel regions that the calling thread opens have this many threads unless they ask for another
/// number. Libraries ask OpenMP and not us how many there are.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

/// Ends the threads of OpenMP that wait for the caller's next parallel region; that one starts new ones. Otherwise they
/// go on spinning for about 10 ms after a region, and compete with whatever runs then. Not within a parallel region.
void end_idle_openmp_threads();

}  // namespace collage::runtime
