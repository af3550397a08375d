// SPDX-License-Identifier: Apache-2.0
// See slice.h.
#include "compiler/ir/slice.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace collage::ir {
namespace {

/// A part of a tensor. Of one whose elements are not made, the part's are made alone.
class SliceSource final : public runtime::ElementSource {
 public:
  SliceSource(Tensor whole, const Slice& slice) : whole_(std::move(whole)), slice_(slice) {
    const auto axis = static_cast<size_t>(slice.axis);
    for (size_t d = axis + 1; d < whole_.shape().size(); ++d) inner_ *= whole_.shape()[d];
    stride_ = inner_ * whole_.shape()[axis];
    length_ = inner_ * (slice.end - slice.begin);
  }

  void write(int64_t first, std::span<std::byte> to) const override {
    const size_t width = size_of(whole_.dtype());
    while (!to.empty()) {
      const int64_t row = first / length_, within = first % length_;
      const int64_t count = std::min(length_ - within, static_cast<int64_t>(to.size() / width));
      whole_.read(row * stride_ + inner_ * slice_.begin + within, to.first(static_cast<size_t>(count) * width));
      to = to.subspan(static_cast<size_t>(count) * width);
      first += count;
    }
  }
  bool makes_same(const ElementSource& other) const override {
    const auto* slice = dynamic_cast<const SliceSource*>(&other);
    return slice != nullptr && slice_ == slice->slice_ && identical(whole_, slice->whole_);
  }

 private:
  Tensor whole_;
  Slice slice_;
  int64_t inner_ = 1, stride_ = 0, length_ = 0;  ///< elements
};

}  // namespace

Shape shape_of_slice(Shape shape, const Slice& slice) {
  if (!slice.is_whole()) shape[static_cast<size_t>(slice.axis)] = slice.end - slice.begin;
  return shape;
}

bool is_view(const TensorType& whole, const Slice& slice) {
  if (slice.is_whole()) return true;
  auto axis = static_cast<size_t>(slice.axis);
  for (size_t d = 0; d < axis; ++d) {
    if (whole.shape[d] != 1) return false;
  }
  size_t before = TensorType{whole.dtype, shape_of_slice(whole.shape, {slice.axis, 0, slice.begin})}.bytes();
  return before % runtime::kTensorAlignment == 0;
}

Tensor slice_of(const Tensor& tensor, const Slice& slice) {
  if (slice.is_whole()) return tensor;
  auto source = std::make_shared<const SliceSource>(tensor, slice);
  if (!tensor.is_made()) return Tensor(tensor.dtype(), shape_of_slice(tensor.shape(), slice), std::move(source));
  Tensor result(tensor.dtype(), shape_of_slice(tensor.shape(), slice));
  source->write(0, {result.data(), result.bytes()});
  return result;
}

}  // namespace collage::ir
