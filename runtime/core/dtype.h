// SPDX-License-Identifier: Apache-2.0
// Element types of tensors. Shared by the compiler and the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace collage::runtime {

enum class DType : uint8_t { F32, F64, I8, U8, I16, I32, I64, Bool };

/// Bytes of one element.
size_t size_of(DType dtype);

/// The name that both languages use: `f32`, `i64`, `bool`, …
std::string_view name_of(DType dtype);

std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);

}  // namespace collage::runtime
