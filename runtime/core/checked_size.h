// SPDX-License-Identifier: Apache-2.0
// Sizes of tensors that come from outside (a package on disk): overflow and negative dimensions are seen, not computed
// with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace collage::runtime {

/// Bytes of a dense tensor; nullopt if a dimension is negative or the product overflows.
inline std::optional<size_t> checked_bytes(DType dtype, const Shape& shape) {
  constexpr int64_t kMost = INT64_MAX / 16;  // leaves room for the width of an element and for rounding up
  int64_t count = 1;
  bool is_empty = false;
  for (int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) is_empty = true;
    // An empty tensor still must have a sane shape: kernels multiply its other dimensions.
    else if (__builtin_mul_overflow(count, dimension, &count) || count > kMost)
      return std::nullopt;
  }
  return is_empty ? 0 : static_cast<size_t>(count) * size_of(dtype);
}

/// `bytes` rounded up to `alignment`, a power of two. Saturates at the greatest multiple.
inline size_t align_up(size_t bytes, size_t alignment) {
  size_t most = SIZE_MAX & ~(alignment - 1);
  return bytes > most ? most : (bytes + alignment - 1) & ~(alignment - 1);
}

}  // namespace collage::runtime
