// SPDX-License-Identifier: Apache-2.0
// How a parallel loop is divided among its threads while it runs: each thread has a range of its own, takes chunks from
// the front of it, and when that is empty takes chunks that others have not begun.
//
// A thread that the system has stopped, because another program wants its processor, then delays the loop by the chunk
// that it was in, and not by half of the loop. When nothing disturbs, each thread runs its own range, the same one in
// every loop of this length: what the range before has left in its cache is there.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/pool/range_function.h"

namespace collage::runtime {

/// Chunks of [0, extent): contiguous, of nearly equal length, none shorter than `grain` unless there is only one.
class Chunks {
 public:
  /// For at most so many parts.
  explicit Chunks(int most_parts) : shares_(static_cast<size_t>(most_parts)) {}

  /// None of the chunks has been taken. Expects 1 <= parts <= max(1, extent / grain), and no thread in `take`.
  void restart(int64_t extent, int64_t grain, int parts);

  /// The next chunk for a part: of its own, else of another one's range. Empty when all have been taken. May be called
  /// from several threads, each with its own part.
  std::optional<Range> take(int part);

 private:
  /// On a cache line of its own: threads count up their own range without disturbing others.
  struct alignas(64) Share {
    std::atomic<int64_t> next{0};  ///< index of a chunk
    int64_t end = 0;
  };
  Range chunk(int64_t index) const;

  int64_t extent_ = 0;
  int64_t count_ = 0;
  size_t parts_ = 0;
  std::vector<Share> shares_;
};

}  // namespace collage::runtime
