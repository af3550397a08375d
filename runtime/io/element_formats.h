// SPDX-License-Identifier: Apache-2.0
// Elements of tensor files: how many bytes they take, and those of less than a byte, which files pack.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/shape.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Bytes of `shape` at `width` bytes each; nullopt if a dimension is negative or the product is beyond 1 TiB.
std::optional<size_t> checked_bytes(const Shape& shape, size_t width);

/// A tensor from `checked_bytes` many little-endian bytes in row-major order.
Tensor tensor_from_bytes(DType dtype, const Shape& shape, const char* bytes);

/// Bytes that `count` elements take where they are packed: `ceil(count * packed_bits / 8)`.
size_t packed_bytes(DType dtype, int64_t count);

/// A tensor from `packed_bytes` many bytes. The first element of a byte has its lowest bits.
Tensor unpack(DType dtype, const Shape& shape, const char* bytes);
/// The inverse of `unpack`.
std::string pack(const Tensor& tensor);

/// The same numbers in a float dtype that has all of them, which may be the tensor's own; nullopt for other dtypes.
std::optional<Tensor> widened(const Tensor& tensor, DType dtype);

}  // namespace collage::runtime
