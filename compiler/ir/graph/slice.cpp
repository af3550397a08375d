// SPDX-License-Identifier: Apache-2.0
// See slice.h.
#include "compiler/ir/graph/slice.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

namespace collage::ir {
namespace {

/// A part of a tensor. Where elements are not in memory, only the part's are made.
class SliceSource final : public runtime::ElementSource {
 public:
  SliceSource(Tensor whole, const Slice& slice) : whole_(std::move(whole)), slice_(slice) {
    const auto axis = static_cast<size_t>(slice.axis);
    for (size_t d = axis + 1; d < whole_.shape().size(); ++d) inner_ *= whole_.shape()[d];
    stride_ = inner_ * whole_.shape()[axis];
    length_ = inner_ * slice_.extent();
    for (const Range& range : slice_.ranges()) pieces_.push_back({range.begin * inner_, range.end * inner_});
  }

  void write(int64_t first, std::span<std::byte> to) const override {
    const size_t width = size_of(whole_.dtype());
    while (!to.empty()) {
      const int64_t row = first / length_;
      int64_t within = first % length_;
      size_t piece = 0;
      while (within >= pieces_[piece].end - pieces_[piece].begin) {
        within -= pieces_[piece].end - pieces_[piece].begin;
        ++piece;
      }
      const int64_t from = pieces_[piece].begin + within;
      const int64_t count = std::min(pieces_[piece].end - from, static_cast<int64_t>(to.size() / width));
      whole_.read(row * stride_ + from, to.first(static_cast<size_t>(count) * width));
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
  std::vector<Range> pieces_;                    ///< of a row, by element
};

}  // namespace

std::vector<Range> Slice::ranges() const {
  std::vector<Range> all = {{begin, end}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

int64_t Slice::extent() const {
  return std::accumulate(more.begin(), more.end(), end - begin,
                         [](int64_t sum, const Range& range) { return sum + range.end - range.begin; });
}

Slice slice_of_ranges(int axis, const std::vector<Range>& ranges) {
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (range.begin == range.end) continue;
    if (!joined.empty() && joined.back().end == range.begin) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  if (joined.empty()) return {axis, 0, 0};
  return {axis, joined.front().begin, joined.front().end, {joined.begin() + 1, joined.end()}};
}

Shape shape_of_slice(Shape shape, const Slice& slice) {
  if (!slice.is_whole()) shape[static_cast<size_t>(slice.axis)] = slice.extent();
  return shape;
}

bool is_view(const TensorType& whole, const Slice& slice) {
  if (slice.is_whole()) return true;
  if (!slice.more.empty()) return false;
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
