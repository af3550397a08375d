// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/clock.h"

#include <algorithm>

namespace collage::runtime {

Duration SimClock::issue(Duration length) {
  length = std::clamp(length, Duration(), Duration::max() - now_);
  now_ += length;
  return now_;
}

}  // namespace collage::runtime
