// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/queue_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collage::measure::fleet {

std::string array_of(const std::vector<int64_t>& numbers) {
  return fmt::format("{{{}}}", fmt::join(numbers, ","));
}

std::vector<int64_t> numbers_of(const postgres::Rows& rows) {
  std::vector<int64_t> numbers;
  for (size_t row = 0; row < rows.size(); ++row) numbers.push_back(rows.number(row, 0));
  return numbers;
}

}  // namespace collage::measure::fleet
