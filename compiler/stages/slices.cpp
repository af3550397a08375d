// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/slices.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/core/checked_size.h"

namespace collage::stages {
namespace {

using ir::Shape;
using ir::Tensor;
using runtime::Result;
using runtime::Status;

/// A tensor as `outer` blocks, each of the axis times `inner` bytes.
struct Blocks {
  size_t outer = 1;
  size_t inner = 1;

  Blocks(const Tensor& tensor, size_t axis) : inner(size_of(tensor.dtype())) {
    for (size_t i = 0; i < axis; ++i) outer *= static_cast<size_t>(tensor.shape()[i]);
    for (size_t i = axis + 1; i < tensor.shape().size(); ++i) inner *= static_cast<size_t>(tensor.shape()[i]);
  }
};

}  // namespace

Result<size_t> axis_of(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return Status::error(fmt::format("axis {} of {} dimensions", axis, rank));
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

Tensor slice_of(const Tensor& tensor, size_t axis, int64_t begin, int64_t count) {
  Shape shape = tensor.shape();
  const auto whole = static_cast<size_t>(shape[axis]);
  shape[axis] = count;
  Tensor slice(tensor.dtype(), shape);
  const Blocks blocks(tensor, axis);
  const size_t bytes = static_cast<size_t>(count) * blocks.inner;
  for (size_t i = 0; i < blocks.outer && bytes > 0; ++i) {
    std::memcpy(slice.data() + i * bytes, tensor.data() + (i * whole + static_cast<size_t>(begin)) * blocks.inner,
                bytes);
  }
  return slice;
}

Tensor without_axis(const Tensor& tensor, size_t axis) {
  Shape shape = tensor.shape();
  shape.erase(shape.begin() + static_cast<int64_t>(axis));
  return tensor.reshaped(shape);
}

Tensor with_axis(const Tensor& tensor, size_t axis) {
  Shape shape = tensor.shape();
  shape.insert(shape.begin() + static_cast<int64_t>(axis), 1);
  return tensor.reshaped(shape);
}

Result<Tensor> concat(const std::vector<Tensor>& tensors, size_t axis) {
  if (tensors.empty()) return Status::error("there is nothing to concatenate");
  Shape shape = tensors.front().shape();
  if (axis >= shape.size()) return Status::error(fmt::format("axis {} of {} dimensions", axis, shape.size()));
  shape[axis] = 0;
  for (const Tensor& tensor : tensors) {
    Shape expected = shape;
    if (tensor.shape().size() > axis) expected[axis] = tensor.shape()[axis];
    if (tensor.shape() != expected || tensor.dtype() != tensors.front().dtype()) {
      return Status::error(fmt::format("{}{} and {}{} cannot be concatenated along axis {}",
                                       name_of(tensors.front().dtype()), runtime::to_string(tensors.front().shape()),
                                       name_of(tensor.dtype()), runtime::to_string(tensor.shape()), axis));
    }
    shape[axis] += tensor.shape()[axis];
  }
  Tensor whole(tensors.front().dtype(), shape);
  const Blocks blocks(whole, axis);
  const size_t row = static_cast<size_t>(shape[axis]) * blocks.inner;
  size_t at = 0;
  for (const Tensor& tensor : tensors) {
    const size_t bytes = static_cast<size_t>(tensor.shape()[axis]) * blocks.inner;
    for (size_t i = 0; i < blocks.outer && bytes > 0; ++i) {
      std::memcpy(whole.data() + i * row + at, tensor.data() + i * bytes, bytes);
    }
    at += bytes;
  }
  return whole;
}

Result<Tensor> no_rows(const std::optional<ir::TensorType>& row, int64_t axis) {
  if (!row) return Status::error("there was no turn, and its body does not say of what type a result is");
  const Result<size_t> at = axis_of(axis, row->shape.size() + 1);
  if (!at) return at.status();
  Shape shape = row->shape;
  shape.insert(shape.begin() + static_cast<int64_t>(*at), 0);
  if (!runtime::checked_bytes(row->dtype, shape)) {
    return Status::error(fmt::format("a result of type {} is too large", ir::to_string({row->dtype, shape})));
  }
  return Tensor(row->dtype, shape);
}

}  // namespace collage::stages
