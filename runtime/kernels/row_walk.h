// SPDX-License-Identifier: Apache-2.0
// Walks an iteration space row by row and keeps an element offset per operand: the loop of every kernel that
// broadcasts, transposes, slices or reduces.
//
//     RowWalk walk(shape, {broadcast_strides(a, shape), broadcast_strides(b, shape)});
//     for (; walk.more(); walk.advance())
//       for (int64_t i = 0; i < walk.length(); ++i) use(a[walk.offset(0) + i * walk.stride(0)], …);
//
// Dimensions that all operands step through together are merged first: [1, 64, 56, 56] + [1, 64, 56, 56] is one row.
// Rows come in row-major order of the space.
#pragma once

#include <vector>

#include "runtime/core/shape.h"

namespace collage::runtime {

class RowWalk {
 public:
  using Strides = std::vector<int64_t>;

  /// One stride per dimension of `space` for each operand; `offsets` are the operands' first elements, 0 by default.
  RowWalk(const Shape& space, std::vector<Strides> strides, std::vector<int64_t> offsets = {});

  bool more() const { return more_; }
  void advance();
  int64_t length() const { return shape_.back(); }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  /// Between neighbours in a row.
  int64_t stride(size_t operand) const { return strides_[operand].back(); }

 private:
  void merge_dimensions();
  Shape shape_;                    ///< at least one dimension
  std::vector<Strides> strides_;   ///< per operand
  std::vector<int64_t> offsets_;   ///< per operand, of the current row
  std::vector<int64_t> position_;  ///< of the current row
  bool more_ = true;
};

/// Strides by which a row-major tensor of shape `operand` is read when broadcast to `space`: 0 where it repeats.
std::vector<int64_t> broadcast_strides(const Shape& operand, const Shape& space);

}  // namespace collage::runtime
