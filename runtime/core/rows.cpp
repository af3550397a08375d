// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/rows.h"

#include <algorithm>
#include <cstring>

namespace collage::runtime {
namespace {

/// A copy with `size` slices along the axis; beyond the last slice it is repeated.
Tensor with_rows(const Tensor& tensor, size_t axis, int64_t size) {
  Shape shape = tensor.shape();
  const auto own = static_cast<size_t>(shape[axis]), wanted = static_cast<size_t>(size);
  shape[axis] = size;
  Tensor made(tensor.dtype(), shape);
  size_t outer = 1, slice = size_of(tensor.dtype());
  for (size_t d = 0; d < axis; ++d) outer *= static_cast<size_t>(shape[d]);
  for (size_t d = axis + 1; d < shape.size(); ++d) slice *= static_cast<size_t>(shape[d]);
  if (outer == 0 || slice == 0 || wanted == 0) return made;
  for (size_t i = 0; i < outer; ++i) {
    const std::byte* from = tensor.data() + i * own * slice;
    std::byte* to = made.data() + i * wanted * slice;
    std::memcpy(to, from, std::min(own, wanted) * slice);
    for (size_t row = own; row < wanted; ++row) std::memcpy(to + row * slice, from + (own - 1) * slice, slice);
  }
  return made;
}

}  // namespace

Tensor with_repeated_rows(const Tensor& tensor, size_t axis, int64_t size) {
  return with_rows(tensor, axis, size);
}

Tensor with_first_rows(const Tensor& tensor, size_t axis, int64_t size) {
  return with_rows(tensor, axis, size);
}

}  // namespace collage::runtime
