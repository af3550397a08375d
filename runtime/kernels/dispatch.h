// SPDX-License-Identifier: Apache-2.0
// From a dtype to the C++ type of its elements: `with_number(dtype, [&]<typename T>(Type<T>) { … })`.
//
// Inference lets each operator see the dtypes of its schema only; another one is a failed Status, not a crash.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/dtype.h"
#include "runtime/core/status.h"

namespace collage::runtime {

inline Status unsupported_dtype(DType dtype) {
  return Status::error("no reference kernel for dtype " + std::string(name_of(dtype)));
}

/// The floats that kernels compute in: f32 and f64. The narrow ones are widened before (`widen.h`).
template <typename F>
Status with_float(DType dtype, F f) {
#define FLOAT_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return f(Type<T>());
  switch (dtype) {
#include "runtime/core/dtypes.def"
    default: return unsupported_dtype(dtype);
  }
}

/// The floats and integers that kernels compute in.
template <typename F>
Status with_number(DType dtype, F f) {
#define NATIVE_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return f(Type<T>());
  switch (dtype) {
#include "runtime/core/dtypes.def"
    default: return unsupported_dtype(dtype);
  }
}

/// The integers that kernels compute in.
template <typename F>
Status with_integer(DType dtype, F f) {
#define INTEGER_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return f(Type<T>());
  switch (dtype) {
#include "runtime/core/dtypes.def"
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
