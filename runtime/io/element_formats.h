// SPDX-License-Identifier: Apache-2.0
// Element types of tensor files that Collage does not compute in: half floats, read as f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/shape.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

enum class HalfKind { None, Ieee, Brain };

float half_to_float(uint16_t bits);
float bfloat_to_float(uint16_t bits);

/// Bytes of `shape` at `width` bytes each; nullopt if a dimension is negative or the product is beyond 1 TiB.
std::optional<size_t> checked_bytes(const Shape& shape, size_t width);

/// A tensor from `checked_bytes` many little-endian bytes in row-major order. Halves widen to f32.
Tensor tensor_from_bytes(DType dtype, HalfKind half, const Shape& shape, const char* bytes);

}  // namespace collage::runtime
