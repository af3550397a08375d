// SPDX-License-Identifier: Apache-2.0
// What `why` and `why-not` answer, as data: the text for people and the document of `--json` are printed from it.
//
//     %c (Conv) runs on npu[0] in p3, 12.3 us of 32.5 us        head
//       reads     %x in npu[0] NHWC, from host for 8.2 us       a row: label, text
//                 %y in host                                    a row that goes on with the label above it
//       because `max partitions 2` of npu (rules/npu.rules:3)   a note
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collage::report {

struct AnswerRow {
  std::string label;  ///< empty: that of the row above, or a note
  std::string text;
  bool is_note = false;  ///< begins in the column of the labels
};

struct Answer {
  std::string head;
  std::vector<AnswerRow> rows;
  size_t label_width = 6;  ///< columns that labels have in the text; a longer one moves the text of its row only

  void add(std::string_view label, std::string text) { rows.push_back({std::string(label), std::move(text)}); }
  void add_note(std::string text) { rows.push_back({"", std::move(text), true}); }
};

/// The columns of the widest label among those of at most `limit` columns.
size_t widest_label(const std::vector<AnswerRow>& rows, size_t limit);

/// The answers as lines for people.
std::string text_of(const std::vector<Answer>& answers);

}  // namespace collage::report
