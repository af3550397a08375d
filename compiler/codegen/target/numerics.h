// SPDX-License-Identifier: Apache-2.0
// How far generated code may depart from the plain sum of f32 products that an operator is defined by.
#pragma once

#include <optional>
#include <string_view>

namespace collage::codegen {

enum class Numerics {
  Strict,  ///< sums in blocks, and nothing else: special values and errors are those of a plain f32 sum
  F32,     ///< also minimal filtering, weights that are added up when compiled, and operands split into three bf16
  Fast,    ///< also operands split into two bf16: about 16 bits of each product
};

struct NumericsRow {
  Numerics numerics;
  std::string_view name;     ///< as options have it
  std::string_view meaning;  ///< for the summary
};

inline constexpr NumericsRow kNumericsRows[] = {
    {Numerics::Strict, "strict", "plain f32 sums"},
    {Numerics::F32, "f32", "f32, also by algorithms with fewer products"},
    {Numerics::Fast, "fast", "products on AMX of 16 bits"},
};

constexpr const NumericsRow& row_of(Numerics numerics) {
  return kNumericsRows[static_cast<int>(numerics)];
}

constexpr std::optional<Numerics> parse_numerics(std::string_view name) {
  for (const NumericsRow& row : kNumericsRows) {
    if (row.name == name) return row.numerics;
  }
  return std::nullopt;
}

}  // namespace collage::codegen
