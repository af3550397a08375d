// SPDX-License-Identifier: Apache-2.0
// The one thread pool: OpenMP's, which oneDNN and OpenBLAS use too. Two pools would compete for the same cores.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/core/status.h"

namespace collage::runtime {

/// Most threads that a program can ask for.
inline constexpr int kMostThreads = 1024;

/// Runs part `part` of a loop, [begin, end).
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end, int part);

/// Splits [0, extent) into at most `threads` contiguous parts of nearly equal length, none shorter than `grain` unless
/// there is only one, and runs them at the same time. The split depends on the arguments only. `part` counts from 0
/// and is below `threads`: no two parts that run at once share it. One part runs on the caller's thread, without the
/// pool. An exception in a part becomes the failure; the other parts still run.
Status parallel_for_raw(int64_t extent, int64_t grain, int threads, RangeFunction function, void* context);

/// The same for any callable `body(begin, end, part)`.
template <typename Body>
Status parallel_for(int64_t extent, int64_t grain, int threads, Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  RangeFunction call = [](void* context, int64_t begin, int64_t end, int part) {
    (*static_cast<Callable*>(context))(begin, end, part);
  };
  return parallel_for_raw(extent, grain, threads, call, const_cast<void*>(static_cast<const void*>(&body)));
}

/// Parts that parallel_for makes.
int part_count(int64_t extent, int64_t grain, int threads);

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

}  // namespace collage::runtime
