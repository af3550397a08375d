// SPDX-License-Identifier: Apache-2.0
// A measurement for tests of the database.
#pragma once

#include "compiler/measure/cost_database.h"

namespace collage::measure {

inline Measurement measured(int64_t ps) {
  Measurement measurement;
  measurement.cost = Duration::picoseconds(ps);
  measurement.spread = Duration::picoseconds(7);
  measurement.runs = 5;
  return measurement;
}

}  // namespace collage::measure
