// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/run_request.h"

#include <charconv>

namespace collage::runner {
namespace {

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

NamedFile parse_named_file(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<double> parse_number(std::string_view text) {
  const size_t slash = text.find('/');
  std::optional<double> above = parse_decimal(text.substr(0, slash));
  if (slash == std::string_view::npos || !above) return above;
  std::optional<double> below = parse_decimal(text.substr(slash + 1));
  if (!below || *below == 0) return std::nullopt;
  return *above / *below;
}

}  // namespace collage::runner
