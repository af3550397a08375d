// SPDX-License-Identifier: Apache-2.0
// Where lines of wrapped text end.
#include "runtime/core/wrapped.h"

#include <gtest/gtest.h>

namespace collage::runtime {
namespace {

TEST(Wrapped, WordsAreKeptWithinTheWidth) {
  EXPECT_EQ(wrapped("one two three", {.column = 4, .indent = 2, .width = 11}), "one two\n  three");
  EXPECT_EQ(wrapped("one two three", {.width = 13}), "one two three");
  EXPECT_EQ(wrapped("", {.column = 4, .indent = 4, .width = 8}), "");
}

TEST(Wrapped, ANumberStaysBesideItsUnit) {
  EXPECT_EQ(wrapped("it took 13.4 ms", {.width = 12}), "it took\n13.4 ms");
  EXPECT_EQ(wrapped("it took (13 ms)", {.width = 12}), "it took\n(13 ms)");
}

TEST(Wrapped, ACommandIsNotBroken) {
  EXPECT_EQ(wrapped("now `run -t a` it", {.width = 12}), "now\n`run -t a`\nit");
  EXPECT_EQ(wrapped("`run -t a` `b`", {.width = 5}), "`run\n-t a`\n`b`");
}

TEST(Wrapped, PartsAreKeptWhole) {
  EXPECT_EQ(wrapped("4 kernels, 1 compiled   128 kB", {.indent = 2, .width = 26}), "4 kernels, 1 compiled\n  128 kB");
  EXPECT_EQ(wrapped("4 kernels, 1 compiled   128 kB", {.indent = 2, .width = 30}), "4 kernels, 1 compiled   128 kB");
  EXPECT_EQ(wrapped("a   b c d e", {.width = 5}), "a\nb c d\ne");
}

TEST(Wrapped, AWordThatFitsNowhereIsNotBroken) {
  EXPECT_EQ(wrapped("in /a/long/path it", {.width = 6}), "in\n/a/long/path\nit");
}

TEST(Wrapped, BytesThatContinueACharacterTakeNoColumn) {
  EXPECT_EQ(columns_of("µs …"), 4u);
  EXPECT_EQ(wrapped("µµµ ……", {.width = 6}), "µµµ ……");
}

}  // namespace
}  // namespace collage::runtime
