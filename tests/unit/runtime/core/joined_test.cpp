// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/joined.h"

#include <gtest/gtest.h>

#include <vector>

namespace collage::runtime {
namespace {

TEST(Joined, SeparatorsStandBetweenItems) {
  const auto text_of = [](int number) { return std::to_string(number); };
  EXPECT_EQ(joined(std::vector{1, 2, 3}, ", ", text_of), "1, 2, 3");
  EXPECT_EQ(joined(std::vector{1}, ", ", text_of), "1");
  EXPECT_EQ(joined(std::vector<int>(), ", ", text_of), "");
}

TEST(Joined, EmptyTextsAreItemsToo) {
  const auto text_of = [](const std::string& text) { return text; };
  EXPECT_EQ(joined(std::vector<std::string>{"", "a", ""}, "+", text_of), "+a+");
}

TEST(Joined, ListsGrowItemByItem) {
  std::string list;
  for (const char* item : {"a", "b"}) add_to_list(list, item);
  EXPECT_EQ(list, "a, b");
  add_to_list(list, "c", " and ");
  EXPECT_EQ(list, "a, b and c");
}

}  // namespace
}  // namespace collage::runtime
