// SPDX-License-Identifier: Apache-2.0
// Lists as text.
#pragma once

#include <string>
#include <string_view>

namespace collage::runtime {

/// The texts of items with the separator between them: `a, b, c`. `text_of` makes the text of an item.
template <typename Items, typename TextOf>
std::string joined(const Items& items, std::string_view separator, TextOf text_of) {
  std::string text;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) text += separator;
    is_first = false;
    text += text_of(item);
  }
  return text;
}

/// Adds an item to a list that may be empty.
inline void add_to_list(std::string& list, std::string_view item, std::string_view separator = ", ") {
  if (!list.empty()) list += separator;
  list += item;
}

}  // namespace collage::runtime
