// SPDX-License-Identifier: Apache-2.0
// One axis of ONNX's Slice, clamped: the same arithmetic for the shape function, the kernel and lowerings.
#pragma once

#include <algorithm>
#include <cstdint>

namespace collage::runtime {

/// Elements start, start + step, …: `count` of them, all in [0, dim).
struct SliceRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

/// `step` is not 0. Out-of-range bounds are clamped as ONNX says, whatever their size.
inline SliceRange slice_range(int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (dim == 0) return {0, step, 0};
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    int64_t span = end - start;
    return {start, step, span > 0 ? (span - 1) / step + 1 : 0};
  }
  start = std::clamp<int64_t>(start, 0, dim - 1);
  end = std::clamp<int64_t>(end, -1, dim - 1);
  int64_t span = start - end;
  // step may be the least int64, whose negation does not exist: divide by it as it is.
  return {start, step, span > 0 ? -((span - 1) / step) + 1 : 0};
}

}  // namespace collage::runtime
