// SPDX-License-Identifier: Apache-2.0
#include "runtime/support/size_text.h"

#include <fmt/format.h>

namespace collage::support {

std::string size_text(size_t bytes) {
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return fmt::format("{:.4g} KiB", kib);
  const double mib = kib / 1024;
  return mib < 1024 ? fmt::format("{:.4g} MiB", mib) : fmt::format("{:.4g} GiB", mib / 1024);
}

}  // namespace collage::support
