// SPDX-License-Identifier: Apache-2.0
// ONNX's numbers of element types (TensorProto.DataType), which users write in the attribute `to` of Cast.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/core/dtype.h"

namespace collage::ir::ops {

inline std::optional<runtime::DType> dtype_of_onnx(int64_t number) {
  using runtime::DType;
  switch (number) {
    case 1: return DType::F32;
    case 2: return DType::U8;
    case 3: return DType::I8;
    case 5: return DType::I16;
    case 6: return DType::I32;
    case 7: return DType::I64;
    case 9: return DType::Bool;
    case 11: return DType::F64;
    default: return std::nullopt;
  }
}

}  // namespace collage::ir::ops
