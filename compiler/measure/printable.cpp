// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/printable.h"

#include <algorithm>

namespace collage::measure {
namespace {

/// Bytes of the character of UTF-8 with which a text begins; 0: it begins with none.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes > text.size()) return 0;
  const auto goes_on = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(bytes, 1)), goes_on)
             ? bytes
             : 0;
}

/// C0, DEL, and C1, which is U+0080 to U+009F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string made;
  while (!text.empty()) {
    const size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, std::max<size_t>(bytes, 1));
    text.remove_prefix(character.size());
    const std::string_view shown = bytes == 0 || is_control(character) ? " " : character;
    if (made.size() + shown.size() > most) return made + "...";
    made += shown;
  }
  return made;
}

}  // namespace collage::measure
