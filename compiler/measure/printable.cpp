// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/printable.h"

#include <algorithm>

#include "runtime/support/utf8.h"

namespace collage::measure {
namespace {

/// C0, DEL, and C1, which is U+0080 to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string made;
  while (!text.empty()) {
    const size_t bytes = support::utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(bytes, 1));
    text.remove_prefix(character.size());
    const std::string_view shown = bytes == 0 || is_control(character) ? " " : character;
    if (made.size() + shown.size() > most) return made + "...";
    made += shown;
  }
  return made;
}

}  // namespace collage::measure
