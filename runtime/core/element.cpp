// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/element.h"

#include <cmath>

namespace collage::runtime {

void set_element(const TensorView& view, int64_t i, double value) {
  auto at = static_cast<size_t>(i);
  switch (view.dtype) {
    case DType::F32: view.as<float>()[at] = static_cast<float>(value); break;
    case DType::F64: view.as<double>()[at] = value; break;
    case DType::I8: view.as<int8_t>()[at] = static_cast<int8_t>(value); break;
    case DType::U8: view.as<uint8_t>()[at] = static_cast<uint8_t>(value); break;
    case DType::I16: view.as<int16_t>()[at] = static_cast<int16_t>(value); break;
    case DType::I32: view.as<int32_t>()[at] = static_cast<int32_t>(value); break;
    case DType::I64: view.as<int64_t>()[at] = static_cast<int64_t>(value); break;
    case DType::Bool: view.as<uint8_t>()[at] = value != 0 ? 1 : 0; break;
  }
}

bool holds(DType dtype, double value) {
  auto is_whole_in = [value](double low, double high) {
    return value >= low && value <= high && value == std::floor(value);
  };
  switch (dtype) {
    case DType::F32: return !std::isfinite(value) || std::isfinite(static_cast<float>(value));
    case DType::F64: return true;
    case DType::I8: return is_whole_in(-128, 127);
    case DType::U8: return is_whole_in(0, 255);
    case DType::I16: return is_whole_in(-32768, 32767);
    case DType::I32: return is_whole_in(-0x1p31, 0x1p31 - 1);
    case DType::I64: return is_whole_in(-0x1p53, 0x1p53);
    case DType::Bool: return is_whole_in(0, 1);
  }
  return false;
}

}  // namespace collage::runtime
