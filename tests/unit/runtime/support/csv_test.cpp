// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/csv.h"

#include <gtest/gtest.h>

namespace collage::support {
namespace {

TEST(Csv, FieldsMayHoldAnything) {
  for (const std::string text : {"plain", "a,b", "say \"no\"", "two\nlines", ""}) {
    const std::vector<CsvRecord> records = parse_csv("x," + csv_quoted(text) + "\r\n\ny,z\n");
    ASSERT_EQ(records.size(), 2u) << text;
    EXPECT_EQ(records[0][1].text, text);
    EXPECT_EQ(records[1][1].text, "z");
  }
  EXPECT_EQ(parse_csv("\"never ends, a").size(), 1u);
}

TEST(Csv, FieldsKnowWhereTheyStand) {
  const std::string text = "a, \"b\"\n\"c,d\",e";
  const std::vector<CsvRecord> records = parse_csv(text);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0][1].text, " \"b\"");  // a quote after a blank begins no quoted field
  EXPECT_EQ(records[1][0].text, "c,d");
  EXPECT_EQ(text.substr(records[1][0].begin, records[1][0].end - records[1][0].begin), "\"c,d\"");
  EXPECT_EQ(records[1][1].end, text.size());
}

TEST(Csv, CommentsAreSkippedWhereTheyAreAskedFor) {
  const std::string text = "# one, \"two\na, b\n \t\n  # a quote,\"\r\nc#, #d\n \n#";
  const std::vector<CsvRecord> records = parse_csv_with_comments(text);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0][0].text, "a");
  EXPECT_EQ(records[0][1].text, " b");
  EXPECT_EQ(records[1][0].text, "c#");
  EXPECT_EQ(records[1][1].text, " #d");
  EXPECT_EQ(parse_csv("#a,b\n \n").size(), 2u);
  EXPECT_TRUE(parse_csv_with_comments(" ").empty());
}

}  // namespace
}  // namespace collage::support
