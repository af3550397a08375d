// SPDX-License-Identifier: Apache-2.0
// Threads that run parallel loops for one thread, the owner. Unlike OpenMP's they
// - take over what another one of them has not begun (pool/chunks.h), and are not waited for if they have nothing: a
//   loop ends when its last chunk is done, even while a worker has not come yet;
// - wait as pool/waiting.h says, whatever the environment of the process says.
//
// Beside libraries that use OpenMP the threads are OpenMP's, lent for a while: a second pool would compete with the
// first one for the processors.
//
//     lend:   #pragma omp parallel   owner: loop, loop, loop   others: work()   =>   the library's loops, same threads
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/pool/chunks.h"
#include "runtime/pool/range_function.h"
#include "runtime/pool/waiting.h"

namespace collage::runtime {

class Workers {
 public:
  enum class From { Own, OpenMp };

  /// The owner is one of `threads`; the others are started here. If the system refuses some, there are fewer. Those of
  /// OpenMP come with `lend`.
  explicit Workers(int threads, From from = From::Own);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Returns what the body returns. While it runs, loops that it runs have the threads; it may open no parallel region
  /// of OpenMP. Threads of our own need not be lent.
  Status lend(const std::function<Status()>& body);
  /// As parallel_for_raw; where the threads are lent and it is not within `lend`, on the caller's thread alone. Not
  /// from within a loop of the same workers, nor from two threads at once.
  Status run(int64_t extent, int64_t grain, RangeFunction function, void* context);

 private:
  /// One loop. Written by the owner while no worker is inside; read by those that are.
  struct Loop {
    RangeFunction function = nullptr;
    void* context = nullptr;
    int parts = 0;
    std::vector<std::string> failures{};  ///< by part
  };

  void work(int part);
  /// True if the worker is inside the loop that is open; `seen` is the number of the last one that it was in.
  bool enter(uint32_t* seen);
  void leave();
  void take_chunks(int part);

  // What is going on, in one word: bit 0: workers may enter; bit 1: they shall end; bits 2-15: how many are inside; the
  // rest: the number of the loop.
  static constexpr uint32_t kOpen = 1;
  static constexpr uint32_t kEnd = 2;
  static constexpr uint32_t kOneInside = 4;
  static constexpr uint32_t kInside = 0xFFFC;
  static constexpr uint32_t kOneLoop = 0x10000;

  alignas(64) std::atomic<uint32_t> state_{0};
  alignas(64) Loop loop_;
  const int most_parts_;
  const From from_;
  bool is_lent_ = false;
  Chunks chunks_;
  Waiting owner_waiting_;
  std::vector<std::thread> threads_;
};

}  // namespace collage::runtime
