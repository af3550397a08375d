// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/summary_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/wrapped.h"

namespace collage::report {

std::string summary_line(std::string_view label, std::string_view text, size_t width) {
  const size_t column = std::max(kLabelColumns, runtime::columns_of(label));
  return fmt::format("{:<{}}{}\n", label, kLabelColumns,
                     runtime::wrapped(text, {.column = column, .indent = kLabelColumns, .width = width}));
}

std::string summary_lines(std::string_view lines, size_t width) {
  std::string text;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::string_view label = line.substr(0, std::min(kLabelColumns, line.size()));
    text += summary_line(label, line.substr(label.size()), width);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

}  // namespace collage::report
