// SPDX-License-Identifier: Apache-2.0
// What all kernels on quantised numbers share: their dtypes, rounding to a byte, zero points.
#pragma once

#include <cmath>

#include "runtime/core/tensor.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/number.h"

namespace collage::runtime {

/// i8 and u8.
template <typename F>
Status with_byte(DType dtype, F f) {
  switch (dtype) {
    case DType::I8: return f(Type<int8_t>());
    case DType::U8: return f(Type<uint8_t>());
    default: return unsupported_dtype(dtype);
  }
}

/// `value`, already divided by its scale, as a byte: halves to even, clamped; NaN as 0.
template <typename T>
T quantize(double value, int32_t zero_point) {
  return saturate_to<T>(std::nearbyint(value) + zero_point);
}

/// Element `i` of a zero point, 0 where it is absent.
inline int32_t zero_point_at(const TensorView& view, int64_t i) {
  return view.is_absent() ? 0 : static_cast<int32_t>(element_as_int(view, i));
}

}  // namespace collage::runtime
