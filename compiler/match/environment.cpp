// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace collage::match {
namespace {

std::optional<std::vector<int>> parse_version(std::string_view text) {
  text = text.substr(0, text.find(' '));
  std::vector<int> numbers;
  for (const char* at = text.data();;) {
    int number = 0;
    auto [stop, error] = std::from_chars(at, text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    numbers.push_back(number);
    // `2.6.3-rc1` counts as 2.6.3.
    if (stop == text.data() + text.size() || *stop == '-' || *stop == '+') return numbers;
    if (*stop != '.') return std::nullopt;
    at = stop + 1;
  }
}

}  // namespace

std::optional<int> compare_versions(std::string_view a, std::string_view b) {
  auto left = parse_version(a);
  auto right = parse_version(b);
  if (!left || !right) return std::nullopt;
  size_t length = std::max(left->size(), right->size());
  left->resize(length);
  right->resize(length);
  if (*left == *right) return 0;
  return *left < *right ? -1 : 1;
}

std::string unmet(const ir::Need& need, const Environment& environment) {
  std::string version;
  if (need.is_library) {
    auto found = environment.libraries.find(need.name);
    if (found == environment.libraries.end()) return fmt::format("this build has no library `{}`", need.name);
    version = found->second.substr(0, found->second.find(' '));
  } else {
    auto found = environment.backends.find(need.name);
    if (found == environment.backends.end())
      return fmt::format("it needs backend `{}`, which is not active", need.name);
    version = std::to_string(found->second);
  }
  if (need.comparison.empty()) return "";
  std::optional<int> order = compare_versions(version, need.version);
  const std::string& how = need.comparison;
  bool holds = order && ((how == ">=" && *order >= 0) || (how == ">" && *order > 0) || (how == "<=" && *order <= 0) ||
                         (how == "<" && *order < 0) || (how == "==" && *order == 0));
  if (holds) return "";
  return fmt::format("{} `{}` has version {}, need {} {}", need.is_library ? "library" : "backend", need.name,
                     version.empty() ? "unknown" : version, how, need.version);
}

}  // namespace collage::match
