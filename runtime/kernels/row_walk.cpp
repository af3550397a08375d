// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/row_walk.h"

#include <algorithm>

namespace collage::runtime {

RowWalk::RowWalk(const Shape& space, std::vector<Strides> strides, std::vector<int64_t> offsets)
    : shape_(space), strides_(std::move(strides)), offsets_(std::move(offsets)) {
  offsets_.resize(strides_.size(), 0);
  merge_dimensions();
  more_ = std::find(shape_.begin(), shape_.end(), 0) == shape_.end();
  position_.assign(shape_.size() - 1, 0);
}

void RowWalk::merge_dimensions() {
  Shape shape;
  std::vector<Strides> strides(strides_.size());
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] == 1) continue;
    // Dimension d continues the one before it if a step of that is a full run through this, for every operand.
    bool continues = !shape.empty();
    for (size_t k = 0; k < strides_.size() && continues; ++k) {
      continues = strides[k].back() == strides_[k][d] * shape_[d];
    }
    if (continues) {
      shape.back() *= shape_[d];
    } else {
      shape.push_back(shape_[d]);
    }
    for (size_t k = 0; k < strides_.size(); ++k) {
      if (continues) strides[k].pop_back();
      strides[k].push_back(strides_[k][d]);
    }
  }
  if (shape.empty()) {
    shape.push_back(1);
    for (Strides& s : strides) s.push_back(0);
  }
  shape_ = std::move(shape);
  strides_ = std::move(strides);
}

void RowWalk::advance() {
  for (size_t d = position_.size(); d-- > 0;) {
    for (size_t k = 0; k < strides_.size(); ++k) offsets_[k] += strides_[k][d];
    if (++position_[d] < shape_[d]) return;
    for (size_t k = 0; k < strides_.size(); ++k) offsets_[k] -= strides_[k][d] * shape_[d];
    position_[d] = 0;
  }
  more_ = false;
}

std::vector<int64_t> broadcast_strides(const Shape& operand, const Shape& space) {
  std::vector<int64_t> own = row_major_strides(operand);
  std::vector<int64_t> strides(space.size(), 0);
  size_t skipped = space.size() - operand.size();
  for (size_t d = 0; d < operand.size(); ++d) strides[skipped + d] = operand[d] == 1 ? 0 : own[d];
  return strides;
}

}  // namespace collage::runtime
