// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/host_space.h"

#include <charconv>

namespace collage::runtime {

namespace {
constexpr std::string_view kHost = "host";
}

std::string host_space(int number) {
  const std::string name(kHost);
  return number == 0 ? name : name + "[" + std::to_string(number) + "]";
}

std::optional<int> host_number(std::string_view space) {
  if (space == kHost) return 0;
  if (!space.starts_with(kHost) || !space.ends_with(']')) return std::nullopt;
  space.remove_prefix(kHost.size());
  if (!space.starts_with('[')) return std::nullopt;
  int number = 0;
  const char* const first = space.data() + 1;
  const char* const last = space.data() + space.size() - 1;
  const auto [end, error] = std::from_chars(first, last, number);
  if (error != std::errc() || end != last || first == last || number < 0) return std::nullopt;
  return number;
}

bool is_other_host(std::string_view space) {
  return space != kHost && is_host_space(space);
}

}  // namespace collage::runtime
