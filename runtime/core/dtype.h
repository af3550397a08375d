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

#include "runtime/core/narrow_float.h"
#include "runtime/core/narrow_integer.h"

namespace collage::runtime {

enum class DType : uint8_t {
#define DTYPE(Id, word, T, NAME, onnx, npy) Id,
#include "runtime/core/dtypes.def"
};

/// All of them, in the order of dtypes.def.
const std::vector<DType>& all_dtypes();

/// Returns false for a value that is not a dtype, as damaged files may hold.
bool is_dtype(DType dtype);

/// Bytes of one element in memory.
size_t size_of(DType dtype);
/// Bits of one element in files, which pack those of less than a byte.
int packed_bits(DType dtype);

/// The name that both languages use: `f32`, `i64`, `bool`, …
std::string_view name_of(DType dtype);

/// Those of all dtypes, in the order of dtypes.def.
std::vector<std::string> dtype_names();

std::optional<DType> parse_dtype(std::string_view name);

/// ONNX's number of the element type (TensorProto.DataType), which some attributes of operators hold.
std::optional<DType> dtype_of_onnx(int64_t number);
int onnx_of(DType dtype);

bool is_float(DType dtype);

/// The floats that operators compute in f32: f16 and bf16.
bool is_narrow_float(DType dtype);

/// The distance from 1 to the next number of a float dtype.
double epsilon_of(DType dtype);

/// Returns whether operators compute with such elements: not bool, and none of the dtypes that only quantisation makes.
bool is_arithmetic(DType dtype);

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
