// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/problem/cost.h"

#include "runtime/support/check.h"

namespace collage::place {

Cost Cost::joules(double joules) {
  const Cost scaled = time(runtime::Duration::seconds(joules));
  return scaled == max() ? max() : of(scaled.count(), Unit::Joules);
}

runtime::Duration Cost::time() const {
  COLLAGE_CHECK(unit_ != Unit::Joules, "an energy is no time");
  return runtime::Duration::picoseconds(count_);
}

}  // namespace collage::place
