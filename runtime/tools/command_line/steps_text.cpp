// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/steps_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::tools {
namespace {

constexpr size_t kBarWidth = 10;

}  // namespace

std::string steps_text(size_t done, size_t of, double seconds) {
  std::string bar(of > 0 ? std::min(kBarWidth, kBarWidth * done / of) : 0, '#');
  bar.resize(kBarWidth, '.');
  std::string text = fmt::format("[{}] {} of {}", bar, done, of);
  if (done == 0 || done >= of) return text;
  return text + fmt::format(", {:.0f} s left", seconds / static_cast<double>(done) * static_cast<double>(of - done));
}

}  // namespace collage::tools
