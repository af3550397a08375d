// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/answer.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::report {

size_t widest_label(const std::vector<AnswerRow>& rows, size_t limit) {
  size_t width = 0;
  for (const AnswerRow& row : rows) {
    if (row.label.size() <= limit) width = std::max(width, row.label.size());
  }
  return width;
}

std::string text_of(const std::vector<Answer>& answers) {
  std::string text;
  for (const Answer& answer : answers) {
    text += answer.head + "\n";
    for (const AnswerRow& row : answer.rows) {
      text += row.is_note ? fmt::format("  {}\n", row.text)
                          : fmt::format("  {:<{}}  {}\n", row.label, answer.label_width, row.text);
    }
  }
  return text;
}

}  // namespace collage::report
