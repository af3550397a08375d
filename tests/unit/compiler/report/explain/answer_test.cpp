// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/report/json_report.h"
#include "compiler/report/report.h"

namespace collage::report {
namespace {

Answer sample() {
  Answer answer{"%c (Conv) runs on npu[0]", {}};
  answer.add("reads", "%x in host");
  answer.add("", "%y in host");
  answer.add_note("because `max partitions 2`");
  return answer;
}

TEST(Answer, TextHasLabelsAboveEachOther) {
  EXPECT_EQ(text_of({sample(), {"%d runs nowhere", {}}}),
            "%c (Conv) runs on npu[0]\n"
            "  reads   %x in host\n"
            "          %y in host\n"
            "  because `max partitions 2`\n"
            "%d runs nowhere\n");
  EXPECT_EQ(text_of({}), "");
}

TEST(Answer, LabelThatIsTooWideMovesItsOwnTextOnly) {
  Answer answer{"head", {}};
  answer.add("conv", "a");
  answer.add("conv_act, conv_clip", "b");
  answer.add("conv_a", "c");
  EXPECT_EQ(widest_label(answer.rows, 10), 6u);
  EXPECT_EQ(widest_label(answer.rows, std::string::npos), 19u);
  answer.label_width = widest_label(answer.rows, 10);
  EXPECT_EQ(text_of({answer}), "head\n  conv    a\n  conv_act, conv_clip  b\n  conv_a  c\n");
}

TEST(Answer, NotesDoNotCountAsLabels) {
  Answer answer{"head", {}};
  answer.add_note("a note that is wider than every label");
  answer.add("b", "text");
  EXPECT_EQ(widest_label(answer.rows, std::string::npos), 1u);
}

TEST(Answer, DocumentHasTheSameRows) {
  using nlohmann::json;
  const ir::Graph graph;
  Answer spaced{"two  blanks", {}};
  spaced.add_note("because of  blanks");
  spaced.add("label", "  text  with blanks");
  const json document = json::parse(answers_json(graph, {}, {}, {sample()}, {spaced}));
  EXPECT_EQ(document["why"], json::parse(R"([{"answer": "%c (Conv) runs on npu[0]", "rows": [
      {"label": "reads", "text": "%x in host"}, {"label": "", "text": "%y in host"},
      {"label": "", "text": "because `max partitions 2`"}]}])"));
  EXPECT_EQ(document["why_not"], json::parse(R"([{"answer": "two  blanks", "rows": [
      {"label": "", "text": "because of  blanks"}, {"label": "label", "text": "  text  with blanks"}]}])"));
  EXPECT_FALSE(json::parse(answers_json(graph, {}, {}, {}, {})).contains("why"));
}

}  // namespace
}  // namespace collage::report
