// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/dtype.h"

#include <array>

namespace collage::runtime {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  size_t bytes;
};

constexpr std::array<Row, 8> kRows = {{
    {DType::F32, "f32", 4},
    {DType::F64, "f64", 8},
    {DType::I8, "i8", 1},
    {DType::U8, "u8", 1},
    {DType::I16, "i16", 2},
    {DType::I32, "i32", 4},
    {DType::I64, "i64", 8},
    {DType::Bool, "bool", 1},
}};

const Row& row(DType dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace

size_t size_of(DType dtype) {
  return row(dtype).bytes;
}

std::string_view name_of(DType dtype) {
  return row(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& r : kRows) {
    if (r.name == name) return r.dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F64;
}

}  // namespace collage::runtime
