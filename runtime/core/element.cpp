// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/element.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collage::runtime {
namespace {

/// Beyond this a double does not hold every integer.
constexpr double kMostExact = 0x1p53;

}  // namespace

std::string integer_text(const TensorView& view, int64_t i) {
  if (view.dtype == DType::U64) return std::to_string(view.as<uint64_t>()[static_cast<size_t>(i)]);
  return std::to_string(element_as_int(view, i));
}

void set_element(const TensorView& view, int64_t i, double value) {
  auto at = static_cast<size_t>(i);
  if (view.dtype == DType::Bool) {
    view.as<uint8_t>()[at] = value != 0 ? 1 : 0;
    return;
  }
  with_element_type(view.dtype, [&]<typename T>(Type<T>) { view.as<T>()[at] = static_cast<T>(value); });
}

bool holds(DType dtype, double value) {
  auto is_whole_in = [value](double low, double high) {
    return value >= low && value <= high && value == std::floor(value);
  };
  if (dtype == DType::Bool) return is_whole_in(0, 1);
  return with_element_type(dtype, [&]<typename T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, Float4E2M1>) {
      return std::isfinite(value) && std::abs(value) <= 7;  // which rounds to the greatest, 6
    } else if constexpr (kIsFloat<T>) {
      return !std::isfinite(value) || std::isfinite(static_cast<double>(static_cast<T>(value)));
    } else {
      return is_whole_in(std::max(-kMostExact, static_cast<double>(Limits::min())),
                         std::min(kMostExact, static_cast<double>(Limits::max())));
    }
  });
}

}  // namespace collage::runtime
