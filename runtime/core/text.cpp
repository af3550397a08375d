// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

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

std::string with_prefix(double count) {
  char text[32];
  if (count >= 1e9) {
    std::snprintf(text, sizeof text, "%.3g G", count / 1e9);
  } else if (count >= 1e6) {
    std::snprintf(text, sizeof text, "%.3g M", count / 1e6);
  } else if (count >= 1e4) {
    std::snprintf(text, sizeof text, "%.3g k", count / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.0f", count);
  }
  return text;
}

std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

double shortest_double(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  auto [end, problem] = std::to_chars(text, text + sizeof text, value);
  double result = value;
  if (problem == std::errc()) std::from_chars(text, end, result);
  return result;
}

}  // namespace collage::runtime
