// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/terminal_width.h"

#include <sys/ioctl.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/core/wrapped.h"

namespace collage::tools {

size_t terminal_width(int descriptor) {
  if (const char* said = std::getenv("COLUMNS"); said != nullptr) {  // NOLINT: one thread
    const std::string_view text = said;
    size_t columns = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (error == std::errc() && end == text.data() + text.size() && columns > 0) return columns;
  }
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : runtime::kUsualWidth;
}

}  // namespace collage::tools
