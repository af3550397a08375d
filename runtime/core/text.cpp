// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/text.h"

namespace collage::runtime {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace collage::runtime
