// SPDX-License-Identifier: Apache-2.0
// Slices of tensors along one dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// [begin, end) of one dimension; the whole value if `axis` is -1. What a part needs of values that stand side by side,
/// as queries, keys and values of a head in one projection, is several ranges of the dimension.
struct Slice {
  int axis = -1;
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<Range> more = {};  ///< after [begin, end); all ascending, with a gap before each

  bool is_whole() const { return axis < 0; }
  std::vector<Range> ranges() const;
  /// The extent of the dimension in the slice.
  int64_t extent() const;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Returns the slice of these ranges, which ascend and do not overlap. Some may touch or be empty.
Slice slice_of_ranges(int axis, const std::vector<Range>& ranges);

/// The shape of a slice of a tensor of this shape.
Shape shape_of_slice(Shape shape, const Slice& slice);
/// Returns whether the slice of such a tensor is contiguous, so that it can be read and written in place.
bool is_view(const TensorType& whole, const Slice& slice);
/// Returns a copy of the elements; the tensor itself if the slice is whole.
Tensor slice_of(const Tensor& tensor, const Slice& slice);

}  // namespace collage::ir
