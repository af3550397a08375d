// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/dtype.h"

namespace collage::runtime {

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> kAll = {
#define DTYPE(Id, word, T, NAME, onnx, npy) DType::Id,
#include "runtime/core/dtypes.def"
  };
  return kAll;
}

bool is_dtype(DType dtype) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return true;
  switch (dtype) {
#include "runtime/core/dtypes.def"
  }
  return false;
}

size_t size_of(DType dtype) {
  return with_element_type(dtype, []<typename T>(Type<T>) { return sizeof(T); });
}

std::string_view name_of(DType dtype) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return #word;
  switch (dtype) {
#include "runtime/core/dtypes.def"
  }
  return "";
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (DType dtype : all_dtypes()) names.emplace_back(name_of(dtype));
  return names;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (DType dtype : all_dtypes()) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) {
  return with_element_type(dtype, []<typename T>(Type<T>) { return std::is_floating_point_v<T>; });
}

}  // namespace collage::runtime
