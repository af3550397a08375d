// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/storage.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/core/attributes.h"

namespace collage::runtime {
namespace {

struct Row {
  StorageType type;
  std::string_view name;
  size_t bytes;
  int float_bits;  ///< of the significand; 0: an integer
  int exponent;    ///< largest of a float
  bool has_infinity;
  int integer_bits;  ///< without the sign
  int64_t low;       ///< of an integer
  uint64_t high;
};

template <typename T>
constexpr Row row_of(StorageType type, std::string_view name) {
  using Limits = std::numeric_limits<T>;
  if constexpr (kIsFloat<T>) {
    return {type, name, sizeof(T), Limits::digits, Limits::max_exponent - 1, Limits::has_infinity, 0, 0, 0};
  } else if constexpr (kIsNarrowInteger<T>) {
    return {type, name, sizeof(T), 0, 0, false, Limits::digits, T::kLowest, T::kGreatest};
  } else {
    return {type, name, sizeof(T), 0, 0, false, Limits::digits, static_cast<int64_t>(Limits::min()), Limits::max()};
  }
}

constexpr Row kRows[] = {
#define NUMBER_DTYPE(Id, word, T, NAME, onnx, npy) row_of<T>(StorageType::Id, #word),
#include "runtime/core/dtypes.def"
};

const Row& row(StorageType type) {
  return kRows[static_cast<size_t>(type)];
}

/// Does every number of `from` exist in `to`?
bool holds_all(const Row& to, const Row& from) {
  if (from.float_bits > 0) {
    return to.float_bits >= from.float_bits && to.exponent >= from.exponent && (to.has_infinity || !from.has_infinity);
  }
  if (to.float_bits == 0) return to.low <= from.low && to.high >= from.high;
  // A float with that many bits of significand holds integers up to 2^bits exactly, if its exponent reaches there.
  return from.integer_bits <= to.float_bits && from.integer_bits <= to.exponent;
}

/// The nearest integer of T; NaN is 0.
template <typename T>
T nearest_integer(double value) {
  const auto greatest = static_cast<double>(std::numeric_limits<T>::max());
  const auto least = static_cast<double>(std::numeric_limits<T>::min());
  if (std::isnan(value)) return T(0);
  value = std::nearbyint(value);
  if (value >= greatest) return std::numeric_limits<T>::max();
  if (value <= least) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename F>
void with_stored(StorageType type, const F& f) {
#define NUMBER_DTYPE(Id, word, T, NAME, onnx, npy) \
  case StorageType::Id: return f(Type<T>());
  switch (type) {
#include "runtime/core/dtypes.def"
  }
}

/// Elements on their way from one storage to another.
constexpr int64_t kBlock = 256;

/// Elements in memory need not be aligned.
template <typename T, typename Number>
void load_block(const std::byte* from, int64_t count, Number* to) {
  for (int64_t i = 0; i < count; ++i) {
    T stored;
    std::memcpy(&stored, from + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    to[i] = static_cast<Number>(stored);
  }
}

template <typename T>
void store_reals(const double* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    T made;
    if constexpr (kIsFloat<T>) {
      made = static_cast<T>(from[i]);
    } else {
      made = nearest_integer<T>(from[i]);
    }
    std::memcpy(to + static_cast<size_t>(i) * sizeof(T), &made, sizeof(T));
  }
}

/// `low` and `high` bound what the target holds.
template <typename T>
void store_integers(const int64_t* from, int64_t count, std::byte* to, int64_t low, int64_t high) {
  for (int64_t i = 0; i < count; ++i) {
    const T made = static_cast<T>(std::clamp(from[i], low, high));
    std::memcpy(to + static_cast<size_t>(i) * sizeof(T), &made, sizeof(T));
  }
}

/// Integers of 64 bits, of which a double does not hold all, among each other; nothing quantises them.
void convert_integers(int64_t count, const std::byte* from, const Row& source, std::byte* to, const Row& target) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  int64_t numbers[kBlock];
  with_stored(source.type, [&]<typename T>(Type<T>) {
    load_block<T>(from, count, numbers);
    // What an i64 does not hold is more than the target holds, or is stored with its own bits.
    if constexpr (std::is_same_v<T, uint64_t>) {
      for (int64_t i = 0; i < count; ++i) numbers[i] = numbers[i] < 0 && target.high <= kMost ? INT64_MAX : numbers[i];
    }
  });
  const bool keeps_bits = source.type == target.type;
  const int64_t low = keeps_bits ? INT64_MIN : target.low;
  const auto high = static_cast<int64_t>(std::min(target.high, kMost));
  with_stored(target.type, [&]<typename T>(Type<T>) {
    if constexpr (!kIsFloat<T>) store_integers<T>(numbers, count, to, low, high);
  });
}

void convert_block(int64_t count, const std::byte* from, const Storage& source, std::byte* to, const Storage& target) {
  const Row& source_row = row(source.type);
  const Row& target_row = row(target.type);
  if (!source.quantisation && !target.quantisation && source_row.float_bits == 0 && target_row.float_bits == 0) {
    return convert_integers(count, from, source_row, to, target_row);
  }
  double numbers[kBlock];
  with_stored(source.type, [&]<typename T>(Type<T>) { load_block<T>(from, count, numbers); });
  for (int64_t i = 0; source.quantisation && i < count; ++i) {
    numbers[i] = source.quantisation->scale * (numbers[i] - source.quantisation->zero);
  }
  for (int64_t i = 0; target.quantisation && i < count; ++i) {
    numbers[i] = std::nearbyint(numbers[i] / target.quantisation->scale) + target.quantisation->zero;
  }
  with_stored(target.type, [&]<typename T>(Type<T>) { store_reals<T>(numbers, count, to); });
}

}  // namespace

bool is_storage_type(StorageType type) {
  return static_cast<size_t>(type) < std::size(kRows);
}

size_t size_of(StorageType type) {
  return row(type).bytes;
}

std::string_view name_of(StorageType type) {
  return row(type).name;
}

std::optional<StorageType> parse_storage_type(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.type;
  }
  return std::nullopt;
}

std::optional<StorageType> storage_type_of(DType dtype) {
  return parse_storage_type(name_of(dtype));
}

std::vector<std::string> storage_type_names() {
  std::vector<std::string> names;
  for (const Row& r : kRows) names.emplace_back(r.name);
  return names;
}

bool is_integer(StorageType type) {
  return row(type).float_bits == 0;
}

bool can_store(StorageType type, int64_t integer) {
  return is_integer(type) && integer >= row(type).low &&
         (integer < 0 || can_store(type, static_cast<uint64_t>(integer)));
}

bool can_store(StorageType type, uint64_t integer) {
  return is_integer(type) && integer <= row(type).high;
}

std::string to_string(const Storage& storage) {
  std::string text(name_of(storage.type));
  if (!storage.quantisation) return text;
  text += " scale " + format_double(storage.quantisation->scale);
  if (storage.quantisation->zero != 0) text += " zero " + std::to_string(storage.quantisation->zero);
  return text;
}

std::string storage_mismatch(DType dtype, const Storage& storage) {
  std::string own(name_of(dtype));
  if (dtype == DType::Bool) return "is bool, which memory holds as bool only";
  if (is_float(dtype) && is_integer(storage.type) && !storage.quantisation) {
    return "is " + own + ", and " + std::string(name_of(storage.type)) + " holds such numbers with a scale only";
  }
  if (!is_float(dtype) && storage.quantisation) return "is " + own + ", and a scale is for floats";
  return "";
}

bool is_lossy(DType dtype, const Storage& storage) {
  return storage.quantisation || !holds_all(row(storage.type), row(*storage_type_of(dtype)));
}

std::optional<Storage> canonical_storage(DType dtype, const std::optional<Storage>& storage) {
  bool is_own = storage && !storage->quantisation && storage_type_of(dtype) == storage->type;
  return is_own ? std::nullopt : storage;
}

size_t element_size(DType dtype, const std::optional<Storage>& storage) {
  return storage ? size_of(storage->type) : size_of(dtype);
}

size_t stored_bytes(DType dtype, const Shape& shape, const std::optional<Storage>& storage) {
  return static_cast<size_t>(element_count(shape)) * element_size(dtype, storage);
}

void convert_storage(DType dtype, int64_t count, const std::byte* from, const std::optional<Storage>& from_storage,
                     std::byte* to, const std::optional<Storage>& to_storage) {
  if (from_storage == to_storage) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * element_size(dtype, from_storage));
    return;
  }
  // A bool has no other storage: both sides are known by now.
  const Storage source = from_storage.value_or(Storage{storage_type_of(dtype).value_or(StorageType::U8)});
  const Storage target = to_storage.value_or(Storage{storage_type_of(dtype).value_or(StorageType::U8)});
  const size_t read = size_of(source.type);
  const size_t written = size_of(target.type);
  for (int64_t done = 0; done < count; done += kBlock) {
    const auto at = static_cast<size_t>(done);
    convert_block(std::min(kBlock, count - done), from + at * read, source, to + at * written, target);
  }
}

}  // namespace collage::runtime
