// SPDX-License-Identifier: Apache-2.0
#include "compiler/costs_tool/fields.h"

#include <algorithm>
#include <climits>

namespace collage::costs_tool {
namespace {

using measure::CostRow;
using measure::Measurement;
using runtime::Duration;

template <Duration Measurement::*field>
constexpr Field duration_field(std::string_view name) {
  return {name, true, [](const CostRow& row) { return (row.measurement.*field).ps(); },
          [](CostRow& row, int64_t value) { row.measurement.*field = Duration::picoseconds(value); }};
}

constexpr Field text_field(std::string_view name, std::string CostRow::*field) {
  return {name, false, nullptr, nullptr, field, nullptr};
}

constexpr Field text_field(std::string_view name, std::string Measurement::*field) {
  return {name, false, nullptr, nullptr, nullptr, field};
}

}  // namespace

const std::array<Field, 9>& fields() {
  static const std::array<Field, 9> all = {
      text_field("environment", &CostRow::environment),
      text_field("candidate", &CostRow::candidate),
      duration_field<&Measurement::cost>("cost_ps"),
      duration_field<&Measurement::spread>("spread_ps"),
      Field{"runs", true, [](const CostRow& row) { return int64_t{row.measurement.runs}; },
            [](CostRow& row, int64_t value) {
              row.measurement.runs = static_cast<int>(std::clamp<int64_t>(value, -1, INT_MAX));
            }},
      text_field("failure", &Measurement::failure),
      duration_field<&Measurement::timeout>("timeout_ps"),
      Field{"date", true, [](const CostRow& row) { return row.measurement.date; },
            [](CostRow& row, int64_t value) { row.measurement.date = value; }},
      text_field("disturbance", &Measurement::disturbance),
  };
  return all;
}

}  // namespace collage::costs_tool
