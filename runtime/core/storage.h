// SPDX-License-Identifier: Apache-2.0
// The element format of a tensor in memory where it differs from the dtype that operators compute in: numbers of
// another type, or integers that represent real numbers. A tensor without a Storage holds elements of its dtype.
//
//     f32 => f16              half the bytes, rounded
//     i8  => i32              four times the bytes, exact
//     f32 => i8 scale 0.05    a quarter of the bytes; represents 0.05 * (stored - zero)
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/tensor.h"

namespace collage::runtime {

/// What memory can hold: all dtypes but bool.
enum class StorageType : uint8_t {
#define NUMBER_DTYPE(Id, word, T, NAME, onnx, npy) Id,
#include "runtime/core/dtypes.def"
};

/// real = scale * (stored - zero)
struct Quantisation {
  double scale = 1;
  int32_t zero = 0;
  friend auto operator<=>(const Quantisation&, const Quantisation&) = default;
};

struct Storage {
  StorageType type = StorageType::F32;
  std::optional<Quantisation> quantisation{};  ///< of an integer type, for tensors of a float dtype
  friend auto operator<=>(const Storage&, const Storage&) = default;
};

/// Returns false for a value that is not a storage type, as damaged files may hold.
bool is_storage_type(StorageType type);
size_t size_of(StorageType type);
std::string_view name_of(StorageType type);
std::optional<StorageType> parse_storage_type(std::string_view name);
/// Returns the storage type of the dtype itself; nullopt for bool.
std::optional<StorageType> storage_type_of(DType dtype);
std::vector<std::string> storage_type_names();
/// Returns true for integer types.
bool is_integer(StorageType type);
bool can_store(StorageType type, int64_t integer);
bool can_store(StorageType type, uint64_t integer);

/// The text in both languages: `f16`, `i8 scale 0.05 zero 3`; a zero of 0 is omitted.
std::string to_string(const Storage& storage);

/// Returns the reason why tensors of `dtype` cannot have this storage; empty if they can.
std::string storage_mismatch(DType dtype, const Storage& storage);
/// Returns true if elements of `dtype` may change by being stored. Expects that they can have this storage.
bool is_lossy(DType dtype, const Storage& storage);
/// Returns nullopt if `storage` is the dtype's own format.
std::optional<Storage> canonical_storage(DType dtype, const std::optional<Storage>& storage);

/// Bytes of one element.
size_t element_size(DType dtype, const std::optional<Storage>& storage);
size_t stored_bytes(DType dtype, const Shape& shape, const std::optional<Storage>& storage);

/// Converts `count` elements of `dtype` from one storage to another, in one layout. Floats are rounded to nearest, ties
/// to even; integers that do not fit become the nearest that does. Expects that both storages can hold the dtype.
void convert_storage(DType dtype, int64_t count, const std::byte* from, const std::optional<Storage>& from_storage,
                     std::byte* to, const std::optional<Storage>& to_storage);

}  // namespace collage::runtime
