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
    if constexpr (std::is_floating_point_v<T>) {
      return !std::isfinite(value) || std::isfinite(static_cast<T>(value));
    } else {
      return is_whole_in(std::max(-kMostExact, static_cast<double>(Limits::min())),
                         std::min(kMostExact, static_cast<double>(Limits::max())));
    }
  });
}

}  // namespace collage::runtime
