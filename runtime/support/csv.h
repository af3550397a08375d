// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them: a quoted field may hold commas, line ends, and quotes written twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace collage::support {

struct CsvField {
  std::string text;             ///< unquoted
  uint32_t begin = 0, end = 0;  ///< in the file, quotes included
};
using CsvRecord = std::vector<CsvField>;

/// Returns the records; empty lines are none, so that each record has a field.
std::vector<CsvRecord> parse_csv(std::string_view text);
/// Skips also lines of blanks, and lines that start with `#`, perhaps after blanks.
std::vector<CsvRecord> parse_csv_with_comments(std::string_view text);

/// In quotes where that is necessary.
std::string csv_quoted(std::string_view text);

}  // namespace collage::support
