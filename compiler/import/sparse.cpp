// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/sparse.h"

#include <fmt/format.h>

#include <cstring>

namespace collage::import {

using runtime::DType;
using runtime::Result;
using runtime::Shape;
using runtime::Status;
using runtime::Tensor;

namespace {

/// A small file may claim any shape, so a dense tensor is made only up to this size.
constexpr uint64_t kMostDenseBytes = uint64_t{4} << 30;

/// Returns the position in the dense tensor of value `i`, or nullopt if it lies outside.
std::optional<int64_t> position_of(const Tensor& indices, int64_t i, const Shape& shape, int64_t count) {
  if (indices.shape().size() == 1) {
    int64_t at = indices.as<int64_t>()[static_cast<size_t>(i)];
    return at >= 0 && at < count ? std::optional(at) : std::nullopt;
  }
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t index = indices.as<int64_t>()[static_cast<size_t>(i) * shape.size() + d];
    if (index < 0 || index >= shape[d]) return std::nullopt;
    at = at * shape[d] + index;
  }
  return at;
}

}  // namespace

Result<Tensor> dense_tensor_of(const onnx::SparseTensorProto& proto, const ExternalData& external) {
  Result<Tensor> values = tensor_of(proto.values(), external);
  if (!values) return values.status();
  Result<Tensor> indices = tensor_of(proto.indices(), external);
  if (!indices) return indices.status();
  Shape shape(proto.dims().begin(), proto.dims().end());
  std::optional<int64_t> count = element_count_of(shape);
  size_t width = size_of(values->dtype());
  if (!count || static_cast<uint64_t>(*count) > kMostDenseBytes / width) {
    return Status::error(
        fmt::format("the sparse tensor of shape {} is too large to be made dense", runtime::to_string(shape)));
  }
  int64_t present = values->count();
  bool fits =
      indices->dtype() == DType::I64 && values->shape().size() == 1 &&
      (indices->shape() == Shape{present} || indices->shape() == Shape{present, static_cast<int64_t>(shape.size())});
  if (!fits) {
    return Status::error(fmt::format("{} values at positions {} are no sparse tensor of shape {}", present,
                                     runtime::to_string(indices->shape()), runtime::to_string(shape)));
  }
  Tensor dense(values->dtype(), shape);
  if (dense.bytes() > 0) std::memset(dense.data(), 0, dense.bytes());
  for (int64_t i = 0; i < present; ++i) {
    std::optional<int64_t> at = position_of(*indices, i, shape, *count);
    if (!at)
      return Status::error(
          fmt::format("value {} of a sparse tensor lies outside of shape {}", i, runtime::to_string(shape)));
    std::memcpy(dense.data() + static_cast<size_t>(*at) * width, values->data() + static_cast<size_t>(i) * width,
                width);
  }
  return dense;
}

}  // namespace collage::import
