// SPDX-License-Identifier: Apache-2.0
// Prints what may hold texts of others, whose control characters no terminal obeys (visible.h). Programs print by
// nothing else.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "runtime/support/visible.h"

namespace collage::support {

template <typename... Args>
void print(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(to, "{}", visible(fmt::format(format, std::forward<Args>(args)...), Lines::Keep));
}

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  support::print(stdout, format, std::forward<Args>(args)...);  // not fmt's
}

/// Prints what another program may read to standard output: byte for byte, but to a terminal as `print` does.
inline void print_exactly(std::string_view text) {
  if (::isatty(STDOUT_FILENO) == 1) return support::print("{}", text);
  fmt::print("{}", text);
}

}  // namespace collage::support
