// SPDX-License-Identifier: Apache-2.0
// What counts as UTF-8.
#include "runtime/support/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace collage::support {
namespace {

TEST(Utf8, EachCharacterTakesItsBytes) {
  EXPECT_EQ(utf8_length("ab"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa9t"), 2u);         // U+00E9
  EXPECT_EQ(utf8_length("\xe2\x80\xa6."), 3u);     // U+2026
  EXPECT_EQ(utf8_length("\xf0\x9d\x95\x8f"), 4u);  // U+1D54F
  EXPECT_EQ(utf8_length("\xed\x9f\xbf"), 3u);      // the last before the surrogates
  EXPECT_EQ(utf8_length("\xf4\x8f\xbf\xbf"), 4u);  // the last of all
  EXPECT_EQ(utf8_length(std::string(1, '\0')), 1u);
}

TEST(Utf8, TheFirstWrongByteIsFound) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \xf0\x9d\x95\x8f"));
  for (const char* wrong : {"\x98\x91", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x80",
                            "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_length(wrong), 0u) << wrong;
    EXPECT_EQ(find_not_utf8("\xc3\xa9" + std::string(wrong) + "z"), 2u) << wrong;
  }
}

}  // namespace
}  // namespace collage::support
