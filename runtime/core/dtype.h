// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, the rows of dtypes.def. Shared by the compiler and the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace collage::runtime {

enum class DType : uint8_t {
#define DTYPE(Id, word, T, NAME, onnx, npy) Id,
#include "runtime/core/dtypes.def"
};

/// All of them, in the order of dtypes.def.
const std::vector<DType>& all_dtypes();

/// Returns false for a value that is not a dtype, as damaged files may hold.
bool is_dtype(DType dtype);

/// Bytes of one element.
size_t size_of(DType dtype);

/// The name that both languages use: `f32`, `i64`, `bool`, …
std::string_view name_of(DType dtype);

/// Those of all dtypes, in the order of dtypes.def.
std::vector<std::string> dtype_names();

std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);

/// A C++ type as an argument.
template <typename T>
using Type = std::type_identity<T>;

/// Calls `f(Type<T>())` with the C++ type of an element: `with_element_type(dtype, [&]<typename T>(Type<T>) { … })`.
/// That of bool is uint8_t, whose elements are 0 or 1. Expects that the dtype exists.
template <typename F>
auto with_element_type(DType dtype, const F& f) {
#define DTYPE(Id, word, T, NAME, onnx, npy) \
  case DType::Id: return f(Type<T>());
  switch (dtype) {
#include "runtime/core/dtypes.def"
  }
  return f(Type<uint8_t>());
}

}  // namespace collage::runtime
