// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/report/size_text.h"

#include <fmt/format.h>

namespace collage::driver {

std::string size_text(size_t bytes) {
  const double kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.4g} KiB", kib) : fmt::format("{:.4g} MiB", kib / 1024);
}

}  // namespace collage::driver
