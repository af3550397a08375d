// SPDX-License-Identifier: Apache-2.0
// How the elements of a tensor lie in memory where that is not as operators compute them: as numbers of another type,
// or as integers that stand for real numbers. A tensor without a storage of its own lies as its dtype says.
//
//     f32 => f16              half the bytes, rounded
//     i8  => i32              four times the bytes, exact
//     f32 => i8 scale 0.05    a quarter of the bytes; stands for 0.05 * (stored - zero)
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/layout.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// What memory can hold: the dtypes but bool, and the two halves that no operator computes in.
enum class StorageType : uint8_t { F16, BF16, F32, F64, I8, U8, I16, I32, I64 };

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

size_t size_of(StorageType type);
std::string_view name_of(StorageType type);
std::optional<StorageType> parse_storage_type(std::string_view name);
std::vector<std::string> storage_type_names();
/// Has it a smallest and a largest stored integer?
bool is_integer(StorageType type);
bool can_store(StorageType type, int64_t integer);

/// As both languages write it: `f16`, `i8 scale 0.05 zero 3`; a zero of 0 is not written.
std::string to_string(const Storage& storage);

/// Why tensors of `dtype` cannot lie so; empty if they can.
std::string storage_mismatch(DType dtype, const Storage& storage);
/// Can a tensor that `dtype` computes come back changed? Expects that it can lie so.
bool is_lossy(DType dtype, const Storage& storage);
/// Nothing where `storage` is how the dtype lies anyway.
std::optional<Storage> canonical_storage(DType dtype, const std::optional<Storage>& storage);

/// Bytes of one element.
size_t element_size(DType dtype, const std::optional<Storage>& storage);
size_t stored_bytes(DType dtype, const Shape& shape, const std::optional<Storage>& storage);

/// Elements from one storage to another, in one layout: `count` of them, which operators compute as `dtype`. Floats are
/// rounded to nearest, ties to even; integers that do not fit become the nearest that does. Expects that both storages
/// can hold the dtype.
void convert_storage(DType dtype, int64_t count, const std::byte* from, const std::optional<Storage>& from_storage,
                     std::byte* to, const std::optional<Storage>& to_storage);

/// A format without its space.
struct MemoryForm {
  std::string layout{kPlainLayout};
  std::optional<Storage> storage{};
  friend bool operator==(const MemoryForm&, const MemoryForm&) = default;
};

/// A tensor from one form to another; it has the *logical* shape. Layouts must exist for the rank.
void rewrite(DType dtype, const Shape& shape, const std::byte* from, const MemoryForm& from_form, std::byte* to,
             const MemoryForm& to_form);

}  // namespace collage::runtime
