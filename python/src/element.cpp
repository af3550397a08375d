// SPDX-License-Identifier: Apache-2.0
#include "python/src/element.h"

#include <algorithm>
#include <stdexcept>

#include "include/collage/dtype.h"

namespace collage::python {

const std::vector<Element>& all_elements() {
  static const std::vector<Element> kElements = {
      {COLLAGE_F32, "f32", "float32", 4, {kDLFloat, 32, 1}, ""},
      {COLLAGE_F64, "f64", "float64", 8, {kDLFloat, 64, 1}, ""},
      {COLLAGE_I8, "i8", "int8", 1, {kDLInt, 8, 1}, ""},
      {COLLAGE_U8, "u8", "uint8", 1, {kDLUInt, 8, 1}, ""},
      {COLLAGE_I16, "i16", "int16", 2, {kDLInt, 16, 1}, ""},
      {COLLAGE_I32, "i32", "int32", 4, {kDLInt, 32, 1}, ""},
      {COLLAGE_I64, "i64", "int64", 8, {kDLInt, 64, 1}, ""},
      {COLLAGE_BOOL, "bool", "bool", 1, {kDLBool, 8, 1}, ""},
      {COLLAGE_U16, "u16", "uint16", 2, {kDLUInt, 16, 1}, ""},
      {COLLAGE_U32, "u32", "uint32", 4, {kDLUInt, 32, 1}, ""},
      {COLLAGE_U64, "u64", "uint64", 8, {kDLUInt, 64, 1}, ""},
      {COLLAGE_F16, "f16", "float16", 2, {kDLFloat, 16, 1}, ""},
      {COLLAGE_BF16, "bf16", "uint16", 2, {kDLBfloat, 16, 1}, "bfloat16"},
      {COLLAGE_F8_E4M3, "f8e4m3fn", "uint8", 1, {kDLUInt, 8, 1}, "float8_e4m3fn"},
      {COLLAGE_F8_E4M3FNUZ, "f8e4m3fnuz", "uint8", 1, {kDLUInt, 8, 1}, "float8_e4m3fnuz"},
      {COLLAGE_F8_E5M2, "f8e5m2", "uint8", 1, {kDLUInt, 8, 1}, "float8_e5m2"},
      {COLLAGE_F8_E5M2FNUZ, "f8e5m2fnuz", "uint8", 1, {kDLUInt, 8, 1}, "float8_e5m2fnuz"},
      {COLLAGE_F8_E8M0, "f8e8m0", "uint8", 1, {kDLUInt, 8, 1}, "float8_e8m0fnu"},
      {COLLAGE_F4, "f4e2m1", "uint8", 1, {kDLUInt, 8, 1}, "float4_e2m1fn"},
      {COLLAGE_I4, "i4", "int8", 1, {kDLInt, 8, 1}, "int4"},
      {COLLAGE_U4, "u4", "uint8", 1, {kDLUInt, 8, 1}, "uint4"},
      {COLLAGE_I2, "i2", "int8", 1, {kDLInt, 8, 1}, "int2"},
      {COLLAGE_U2, "u2", "uint8", 1, {kDLUInt, 8, 1}, "uint2"},
  };
  return kElements;
}

const Element& element_of(int32_t dtype) {
  const std::vector<Element>& all = all_elements();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Element& one) { return one.dtype == dtype; });
  if (found == all.end()) throw std::invalid_argument("no element type has the number " + std::to_string(dtype));
  return *found;
}

std::string to_string(const Element& element, const std::vector<int64_t>& shape) {
  std::string text = std::string(element.name) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace collage::python
