// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/comments.h"

#include <algorithm>
#include <cctype>

namespace collage::syntax {

std::vector<support::Span> comments_between(std::string_view text, support::FileId file, uint32_t begin, uint32_t end) {
  std::vector<support::Span> comments;
  while (begin < end) {
    size_t slashes = text.substr(0, end).find("//", begin);
    if (slashes == std::string_view::npos) break;
    size_t stop = std::min<size_t>(text.find('\n', slashes), end);
    size_t last = stop;
    while (last > slashes && std::isspace(static_cast<unsigned char>(text[last - 1])) != 0) --last;
    comments.push_back({file, static_cast<uint32_t>(slashes), static_cast<uint32_t>(last)});
    begin = static_cast<uint32_t>(stop);
  }
  return comments;
}

}  // namespace collage::syntax
