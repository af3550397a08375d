// SPDX-License-Identifier: Apache-2.0
// The body of a parallel loop, and how many threads a loop is worth.
#pragma once

#include <cstdint>
#include <string>

namespace collage::runtime {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Runs [begin, end) of a loop. `part` counts from 0 and is below the number of threads: no two calls that run at once
/// have the same.
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end, int part);

/// Calls it. Returns nothing, or what it threw.
std::string run_part(RangeFunction function, void* context, Range range, int part);

/// How many threads share a loop: none has less than `grain`, unless there is only one.
int part_count(int64_t extent, int64_t grain, int threads);

}  // namespace collage::runtime
