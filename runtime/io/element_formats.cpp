// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/element_formats.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace collage::runtime {

float half_to_float(uint16_t bits) {
  int exponent = (bits >> 10) & 0x1f;
  int fraction = bits & 0x3ff;
  float magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float bfloat_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

std::optional<size_t> checked_bytes(const Shape& shape, size_t width) {
  constexpr int64_t kMost = int64_t{1} << 40;
  bool is_empty = false;
  int64_t bytes = static_cast<int64_t>(width);
  for (int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    is_empty = is_empty || dim == 0;
    if (dim > 0 && bytes > kMost / dim) return std::nullopt;
    if (dim > 0) bytes *= dim;
  }
  return is_empty ? 0 : static_cast<size_t>(bytes);
}

Tensor tensor_from_bytes(DType dtype, HalfKind half, const Shape& shape, const char* bytes) {
  Tensor tensor(dtype, shape);
  if (half == HalfKind::None) {
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), bytes, tensor.bytes());
    return tensor;
  }
  std::span<float> elements = tensor.as<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes + 2 * i, 2);
    elements[i] = half == HalfKind::Ieee ? half_to_float(bits) : bfloat_to_float(bits);
  }
  return tensor;
}

}  // namespace collage::runtime
