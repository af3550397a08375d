// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers of element types (TensorProto.DataType), which users write in the attribute `to` of Cast.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"

namespace collage::ir::ops {

inline std::optional<runtime::DType> dtype_of_onnx(int64_t number) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case onnx: return runtime::DType::Id;
  switch (number) {
#include "runtime/core/dtypes.def"
    default: return std::nullopt;
  }
}

inline int onnx_of(runtime::DType dtype) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case runtime::DType::Id: return onnx;
  switch (dtype) {
#include "runtime/core/dtypes.def"
  }
  return 0;
}

}  // namespace collage::ir::ops
