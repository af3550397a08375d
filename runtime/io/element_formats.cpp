// SPDX-License-Identifier: Apache-2.0
#include "runtime/io/element_formats.h"

#include <cstdint>
#include <cstring>

#include "runtime/core/storage.h"

namespace collage::runtime {

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

Tensor tensor_from_bytes(DType dtype, const Shape& shape, const char* bytes) {
  Tensor tensor(dtype, shape);
  if (tensor.bytes() > 0) std::memcpy(tensor.data(), bytes, tensor.bytes());
  return tensor;
}

size_t packed_bytes(DType dtype, int64_t count) {
  return (static_cast<size_t>(count) * static_cast<size_t>(packed_bits(dtype)) + 7) / 8;
}

Tensor unpack(DType dtype, const Shape& shape, const char* bytes) {
  const int width = packed_bits(dtype);
  if (width >= 8) return tensor_from_bytes(dtype, shape, bytes);
  Tensor tensor(dtype, shape);
  const auto per_byte = static_cast<size_t>(8 / width);
  with_element_type(dtype, [&]<typename T>(Type<T>) {
    auto elements = tensor.as<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto packed = static_cast<uint8_t>(bytes[i / per_byte]);
      const int bits = packed >> (static_cast<int>(i % per_byte) * width) & ((1 << width) - 1);
      if constexpr (kIsNarrowFloat<T>) {
        elements[i] = T::of_bits(static_cast<typename T::Bits>(bits));
      } else {
        elements[i] = static_cast<T>(bits);
      }
    }
  });
  return tensor;
}

std::string pack(const Tensor& tensor) {
  const int width = packed_bits(tensor.dtype());
  std::string bytes(packed_bytes(tensor.dtype(), tensor.count()), '\0');
  if (width >= 8) {
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.data(), bytes.size());
    return bytes;
  }
  const auto per_byte = static_cast<size_t>(8 / width);
  const auto* elements = reinterpret_cast<const uint8_t*>(tensor.data());
  for (size_t i = 0; i < static_cast<size_t>(tensor.count()); ++i) {
    const int bits = elements[i] & ((1 << width) - 1);
    char& packed = bytes[i / per_byte];
    packed = static_cast<char>(static_cast<uint8_t>(packed) | bits << (static_cast<int>(i % per_byte) * width));
  }
  return bytes;
}

std::optional<Tensor> widened(const Tensor& tensor, DType dtype) {
  if (!is_float(tensor.dtype()) || !is_float(dtype)) return std::nullopt;
  if (tensor.dtype() == dtype) return tensor;
  const Storage wide{*storage_type_of(dtype)};
  if (is_lossy(tensor.dtype(), wide)) return std::nullopt;
  Tensor result(dtype, tensor.shape());
  convert_storage(tensor.dtype(), tensor.count(), tensor.data(), {}, result.data(), wide);
  return result;
}

}  // namespace collage::runtime
