// SPDX-License-Identifier: Apache-2.0
// From a dtype to the C++ type of its elements: `with_number(dtype, [&]<typename T>(Type<T>) { … })`.
//
// Inference lets each operator see the dtypes of its schema only; another one is a failed Status, not a crash.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/core/status.h"

namespace collage::runtime {

template <typename T>
using Type = std::type_identity<T>;

inline Status unsupported_dtype(DType dtype) {
  return Status::error("no reference kernel for dtype " + std::string(name_of(dtype)));
}

/// f32 and f64.
template <typename F>
Status with_float(DType dtype, F f) {
  switch (dtype) {
    case DType::F32: return f(Type<float>());
    case DType::F64: return f(Type<double>());
    default: return unsupported_dtype(dtype);
  }
}

/// Every dtype but bool.
template <typename F>
Status with_number(DType dtype, F f) {
  switch (dtype) {
    case DType::F32: return f(Type<float>());
    case DType::F64: return f(Type<double>());
    case DType::I8: return f(Type<int8_t>());
    case DType::U8: return f(Type<uint8_t>());
    case DType::I16: return f(Type<int16_t>());
    case DType::I32: return f(Type<int32_t>());
    case DType::I64: return f(Type<int64_t>());
    case DType::Bool: return unsupported_dtype(dtype);
  }
  return unsupported_dtype(dtype);
}

/// Every dtype but bool, f32 and f64.
template <typename F>
Status with_integer(DType dtype, F f) {
  switch (dtype) {
    case DType::I8: return f(Type<int8_t>());
    case DType::U8: return f(Type<uint8_t>());
    case DType::I16: return f(Type<int16_t>());
    case DType::I32: return f(Type<int32_t>());
    case DType::I64: return f(Type<int64_t>());
    default: return unsupported_dtype(dtype);
  }
}

/// An unsigned integer of the element's width: all that data movement needs to know.
template <typename F>
Status with_width(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1: return f(Type<uint8_t>());
    case 2: return f(Type<uint16_t>());
    case 4: return f(Type<uint32_t>());
    case 8: return f(Type<uint64_t>());
    default: return unsupported_dtype(dtype);
  }
}

}  // namespace collage::runtime
