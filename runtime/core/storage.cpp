// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/storage.h"

#include <algorithm>
#include <bit>
#include <cmath>
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
  int64_t low;     ///< of an integer
  int64_t high;
};

template <typename T>
constexpr Row row_of(StorageType type, std::string_view name) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {type, name, sizeof(T), Limits::digits, Limits::max_exponent - 1, 0, 0};
  } else {
    return {type, name, sizeof(T), 0, 0, Limits::min(), Limits::max()};
  }
}

constexpr Row kRows[] = {
    {StorageType::F16, "f16", 2, 11, 15, 0, 0},
    {StorageType::BF16, "bf16", 2, 8, 127, 0, 0},
#define NUMBER_DTYPE(Id, word, T, NAME, onnx, npy) row_of<T>(StorageType::Id, #word),
#include "runtime/core/dtypes.def"
};

const Row& row(StorageType type) {
  return kRows[static_cast<size_t>(type)];
}

/// The storage type of the dtype itself; nullopt for bool.
std::optional<StorageType> own_type(DType dtype) {
  return parse_storage_type(name_of(dtype));
}

/// Does every number of `from` exist in `to`?
bool holds_all(const Row& to, const Row& from) {
  if (from.float_bits > 0) return to.float_bits >= from.float_bits && to.exponent >= from.exponent;
  if (to.float_bits == 0) return to.low <= from.low && to.high >= from.high;
  // A float with that many bits of significand holds integers up to 2^bits exactly, if its exponent reaches there.
  int bits = static_cast<int>(from.bytes) * 8 - (from.low < 0 ? 1 : 0);
  return bits <= to.float_bits && bits <= to.exponent;
}

/// A float of 16 bits, of which `Bits` are its significand's, the leading one counted.
template <int Bits>
struct Half {
  static constexpr int kMantissa = Bits - 1;
  static constexpr int kBias = (1 << (15 - kMantissa - 1)) - 1;
  static constexpr uint64_t kInfinity = uint64_t{2 * kBias + 1} << kMantissa;

  /// To nearest, ties to even.
  static uint16_t from(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
    const uint64_t magnitude = bits & INT64_MAX;
    if (magnitude > kDoubleInfinity) return static_cast<uint16_t>(sign | kInfinity | (1 << (kMantissa - 1)));
    const int64_t exponent = static_cast<int64_t>(magnitude >> 52) - 1023 + kBias;
    uint64_t units = magnitude & kDoubleMantissa;
    int shift = 52 - kMantissa;
    if (exponent > 0) {
      if (exponent > 2 * kBias) return static_cast<uint16_t>(sign | kInfinity);
      units |= static_cast<uint64_t>(exponent) << 52;  // a carry out of the mantissa is the next exponent
    } else {
      if (shift + 1 - exponent > 60) return sign;
      units |= uint64_t{1} << 52;  // its leading one is written out: below the smallest normal
      shift += static_cast<int>(1 - exponent);
    }
    units += (uint64_t{1} << (shift - 1)) - 1 + ((units >> shift) & 1);
    return static_cast<uint16_t>(sign | std::min(units >> shift, kInfinity));
  }

  static double to_double(uint16_t stored) {
    const int field = (stored & 0x7fff) >> kMantissa;
    const int mantissa = stored & ((1 << kMantissa) - 1);
    double value = 0;
    if (field == 2 * kBias + 1) {
      value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else if (field == 0) {
      value = std::ldexp(mantissa, 1 - kBias - kMantissa);
    } else {
      value = std::bit_cast<double>(static_cast<uint64_t>(field - kBias + 1023) << 52 | static_cast<uint64_t>(mantissa)
                                                                                            << (52 - kMantissa));
    }
    return (stored & 0x8000) != 0 ? -value : value;
  }

 private:
  static constexpr uint64_t kDoubleMantissa = (uint64_t{1} << 52) - 1;
  static constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << 52;
};

/// The nearest integer of T; NaN is 0.
template <typename T>
T nearest_integer(double value) {
  if (std::isnan(value)) return 0;
  value = std::nearbyint(value);
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

/// One element in memory, which need not be aligned.
template <typename T>
struct Cell {
  using Stored = T;
  static double load(T stored) { return static_cast<double>(stored); }
  static T make(double value) {
    if constexpr (std::is_integral_v<T>) {
      return nearest_integer<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

template <int Bits>
struct Cell<Half<Bits>> {
  using Stored = uint16_t;
  static double load(uint16_t stored) { return Half<Bits>::to_double(stored); }
  static uint16_t make(double value) { return Half<Bits>::from(value); }
};

template <typename F>
void with_cell(StorageType type, const F& f) {
#define NUMBER_DTYPE(Id, word, T, NAME, onnx, npy) \
  case StorageType::Id: return f(Cell<T>());
  switch (type) {
    case StorageType::F16: return f(Cell<Half<11>>());
    case StorageType::BF16: return f(Cell<Half<8>>());
#include "runtime/core/dtypes.def"
  }
}

template <typename Stored>
Stored read(const std::byte* at) {
  Stored stored;
  std::memcpy(&stored, at, sizeof(Stored));
  return stored;
}

template <typename From, typename To>
void convert_elements(int64_t count, const std::byte* from, const std::optional<Quantisation>& from_scale,
                      std::byte* to, const std::optional<Quantisation>& to_scale) {
  using Source = typename From::Stored;
  using Target = typename To::Stored;
  for (int64_t i = 0; i < count; ++i, from += sizeof(Source), to += sizeof(Target)) {
    const Source stored = read<Source>(from);
    Target made;
    if constexpr (std::is_same_v<From, Cell<int64_t>> && std::is_integral_v<Target>) {
      // Beyond 2^53 a double would round; nothing quantises an i64.
      made = static_cast<Target>(
          std::clamp<int64_t>(stored, std::numeric_limits<Target>::min(), std::numeric_limits<Target>::max()));
    } else {
      double value = From::load(stored);
      if (from_scale) value = from_scale->scale * (value - from_scale->zero);
      if (to_scale) value = std::nearbyint(value / to_scale->scale) + to_scale->zero;
      made = To::make(value);
    }
    std::memcpy(to, &made, sizeof(Target));
  }
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

std::vector<std::string> storage_type_names() {
  std::vector<std::string> names;
  for (const Row& r : kRows) names.emplace_back(r.name);
  return names;
}

bool is_integer(StorageType type) {
  return row(type).float_bits == 0;
}

bool can_store(StorageType type, int64_t integer) {
  return is_integer(type) && integer >= row(type).low && integer <= row(type).high;
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
  return storage.quantisation || !holds_all(row(storage.type), row(*own_type(dtype)));
}

std::optional<Storage> canonical_storage(DType dtype, const std::optional<Storage>& storage) {
  bool is_own = storage && !storage->quantisation && own_type(dtype) == storage->type;
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
  const Storage source = from_storage.value_or(Storage{own_type(dtype).value_or(StorageType::U8)});
  const Storage target = to_storage.value_or(Storage{own_type(dtype).value_or(StorageType::U8)});
  with_cell(source.type, [&](auto from_cell) {
    with_cell(target.type, [&](auto to_cell) {
      convert_elements<decltype(from_cell), decltype(to_cell)>(count, from, source.quantisation, to,
                                                               target.quantisation);
    });
  });
}

}  // namespace collage::runtime
