// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/written_name.h"

namespace collage::support {

bool is_plain_name(std::string_view name) {
  bool after_slash = false;
  for (char c : name) {
    bool is_slash = c == '/';
    bool is_letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter && !is_slash && std::string_view("_.$-").find(c) == std::string_view::npos) return false;
    if (is_slash && after_slash) return false;
    after_slash = is_slash;
  }
  return !name.empty() && !after_slash;
}

std::string quoted(std::string_view text) {
  std::string result(1, '"');
  for (char c : text) {
    switch (c) {
      case '\n': result += "\\n"; break;
      case '\t': result += "\\t"; break;
      case '\r': result += "\\r"; break;
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      default: result += c;
    }
  }
  result += '"';
  return result;
}

std::string written_name(std::string_view name) {
  return is_plain_name(name) ? std::string(name) : quoted(name);
}

}  // namespace collage::support
