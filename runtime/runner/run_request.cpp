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
  if (equals == std::string::npos || equals == 0) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

NamedFile named_by(const NamedFile& entry, const std::function<bool(const std::string&)>& is_known) {
  const std::string text = entry.name.empty() ? entry.file : entry.name + "=" + entry.file;
  for (size_t equals = text.rfind('='); equals != std::string::npos && equals > 0;
       equals = text.rfind('=', equals - 1)) {
    if (is_known(text.substr(0, equals))) return {text.substr(0, equals), text.substr(equals + 1)};
  }
  return entry;
}

std::vector<std::string> files_meant(const NamedFile& entry) {
  std::vector<std::string> files = {entry.file};
  if (entry.name.empty()) return files;
  for (size_t equals = entry.file.find('='); equals != std::string::npos; equals = entry.file.find('=', equals + 1)) {
    files.push_back(entry.file.substr(equals + 1));
  }
  return files;
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
