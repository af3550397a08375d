// SPDX-License-Identifier: Apache-2.0
// Slices of tensors along one dimension.
#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"

namespace collage::ir {

/// [begin, end) of one dimension; the whole value if `axis` is -1.
struct Slice {
  int axis = -1;
  int64_t begin = 0;
  int64_t end = 0;

  bool is_whole() const { return axis < 0; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The shape of a slice of a tensor of this shape.
Shape shape_of_slice(Shape shape, const Slice& slice);
/// Returns whether the slice of such a tensor is contiguous, so that it can be read and written in place.
bool is_view(const TensorType& whole, const Slice& slice);
/// Returns a copy of the elements; the tensor itself if the slice is whole.
Tensor slice_of(const Tensor& tensor, const Slice& slice);

}  // namespace collage::ir
