// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/dtype.h"

#include <cmath>
#include <limits>

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

std::optional<DType> dtype_of_onnx(int64_t number) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case onnx: return DType::Id;
  switch (number) {
#include "runtime/core/dtypes.def"
    default: return std::nullopt;
  }
}

int onnx_of(DType dtype) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return onnx;
  switch (dtype) {
#include "runtime/core/dtypes.def"
  }
  return 0;
}

int packed_bits(DType dtype) {
  return with_element_type(dtype, []<typename T>(Type<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<int>(8 * sizeof(T));
    } else {
      return T::kBits;
    }
  });
}

bool is_float(DType dtype) {
  return with_element_type(dtype, []<typename T>(Type<T>) { return kIsFloat<T>; });
}

double epsilon_of(DType dtype) {
  return with_element_type(dtype,
                           []<typename T>(Type<T>) { return std::ldexp(1.0, 1 - std::numeric_limits<T>::digits); });
}

bool is_narrow_float(DType dtype) {
#define NARROW_FLOAT_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return true;
  switch (dtype) {
#include "runtime/core/dtypes.def"
    default: return false;
  }
}

bool is_arithmetic(DType dtype) {
#define NATIVE_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return true;
#define NARROW_FLOAT_DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return true;
  switch (dtype) {
#include "runtime/core/dtypes.def"
    default: return false;
  }
}

}  // namespace collage::runtime
