// SPDX-License-Identifier: Apache-2.0
// What is UTF-8: no surrogates, no character in more bytes than it needs, none beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace collage::support {

/// Bytes of the character with which a text begins that is not empty; 0: it begins with none.
size_t utf8_length(std::string_view text);

/// Returns the place of the first byte that belongs to no character; npos: the whole text is UTF-8.
size_t find_not_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) {
  return find_not_utf8(text) == std::string_view::npos;
}

}  // namespace collage::support
