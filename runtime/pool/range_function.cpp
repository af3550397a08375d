// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/range_function.h"

#include <algorithm>
#include <exception>

namespace collage::runtime {

std::string run_part(RangeFunction function, void* context, Range range, int part) {
  try {
    function(context, range.begin, range.end, part);
    return {};
  } catch (const std::exception& exception) {
    return std::string("a parallel loop failed: ") + exception.what();
  } catch (...) {
    return "a parallel loop failed";
  }
}

int part_count(int64_t extent, int64_t grain, int threads) {
  if (extent <= 0) return 0;
  int64_t most = extent / std::max<int64_t>(grain, 1);
  return static_cast<int>(std::clamp<int64_t>(most, 1, std::max(threads, 1)));
}

}  // namespace collage::runtime
