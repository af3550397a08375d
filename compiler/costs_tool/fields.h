// SPDX-License-Identifier: Apache-2.0
// The fields of a row, once for both formats.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "compiler/measure/cost_database.h"

namespace collage::costs_tool {

/// A number or a text of a row.
struct Field {
  std::string_view name;
  bool is_number = false;
  int64_t (*number)(const measure::CostRow& row) = nullptr;
  void (*set_number)(measure::CostRow& row, int64_t value) = nullptr;
  std::string measure::CostRow::*text = nullptr;
  std::string measure::Measurement::*measured_text = nullptr;

  const std::string& text_of(const measure::CostRow& row) const {
    return text != nullptr ? row.*text : row.measurement.*measured_text;
  }
  std::string& text_of(measure::CostRow& row) const {
    return text != nullptr ? row.*text : row.measurement.*measured_text;
  }
};

/// In the order of columns.
const std::array<Field, 9>& fields();

}  // namespace collage::costs_tool
