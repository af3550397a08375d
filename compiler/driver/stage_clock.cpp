// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stage_clock.h"

#include <fmt/format.h>

namespace collage::driver {

std::string StageClock::text() const {
  std::string text;
  for (const Row& row : rows_) {
    text += fmt::format("time        {:<14}{:>10.3f} ms\n{}", row.name, row.seconds * 1e3, row.details);
  }
  return text;
}

}  // namespace collage::driver
