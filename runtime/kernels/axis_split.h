// SPDX-License-Identifier: Apache-2.0
// A shape seen from one axis: [outer, extent, inner].
#pragma once

#include <cstdint>

#include "runtime/core/shape.h"

namespace collage::runtime {

struct AxisSplit {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;

  /// A negative axis counts from the end.
  AxisSplit(const Shape& shape, int64_t axis) {
    auto rank = static_cast<int64_t>(shape.size());
    if (axis < 0) axis += rank;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t dim = shape[static_cast<size_t>(d)];
      (d < axis ? outer : d == axis ? extent : inner) *= dim;
    }
  }
};

}  // namespace collage::runtime
