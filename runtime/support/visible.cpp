// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/visible.h"

#include <fmt/format.h>

namespace collage::support {
namespace {

/// How many bytes the control character takes with which the text begins; 0: it begins with none.
size_t control_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x20 || first == 0x7f) return 1;
  const bool is_c1 = first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) >= 0x80 &&
                     static_cast<unsigned char>(text[1]) < 0xa0;
  return is_c1 ? 2 : 0;
}

}  // namespace

std::string visible(std::string_view text, Lines lines) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const bool is_kept = lines == Lines::Keep && (text[0] == '\n' || text[0] == '\t');
    const size_t bytes = is_kept ? 0 : control_bytes(text);
    if (bytes == 0) shown += text[0];
    if (bytes > 0) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[bytes - 1]));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return shown;
}

}  // namespace collage::support
