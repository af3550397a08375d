// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/support/utf8.h"

namespace collage::support {
namespace {

struct Range {
  char32_t first, last;
};

/// C0 and C1; soft hyphen; marks, embeddings, overrides and isolates of direction; separators of lines; what has no
/// width; tags.
constexpr Range kHidden[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
                             {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
                             {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

/// The number of the character that is the whole text: UTF-8, or the byte if it is none.
char32_t number_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t number = first & (0x7fU >> character.size());
  for (const char c : character.substr(1)) number = number << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return number;
}

bool is_hidden(std::string_view character) {
  if (utf8_length(character) == 0) return true;
  const char32_t number = number_of(character);
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [number](const Range& range) { return number >= range.first && number <= range.last; });
}

bool is_of_lines(char c) {
  return c == '\n' || c == '\t';
}

std::string escaped(std::string_view character) {
  constexpr char32_t kOfTwo = 0x10000;  ///< from here on JSON has two numbers for a character
  const char32_t number = number_of(character);
  if (utf8_length(character) == 0 || number < 0x20) return fmt::format("\\x{:02x}", static_cast<unsigned>(number));
  if (number < kOfTwo) return fmt::format("\\u{:04x}", static_cast<unsigned>(number));
  const auto rest = static_cast<unsigned>(number - kOfTwo);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800U + (rest >> 10U), 0xdc00U + (rest & 0x3ffU));
}

/// The text with `replace` of each hidden character, but for those that `is_kept`.
template <typename IsKept, typename Replace>
std::string replaced(std::string_view text, IsKept&& is_kept, Replace&& replace) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = text.substr(0, first_character(text));
    text.remove_prefix(character.size());
    if (is_hidden(character) && !is_kept(character[0])) {
      made += replace(character);
    } else {
      made += character;
    }
  }
  return made;
}

}  // namespace

std::string visible(std::string_view text, Lines lines) {
  return replaced(
      text, [lines](char c) { return lines == Lines::Keep && is_of_lines(c); }, escaped);
}

std::string masked(std::string_view text) {
  return replaced(text, is_of_lines, [](std::string_view) { return '?'; });
}

size_t first_character(std::string_view text) {
  return std::max<size_t>(utf8_length(text), 1);
}

bool begins_hidden(std::string_view text) {
  return is_hidden(text.substr(0, first_character(text)));
}

}  // namespace collage::support
