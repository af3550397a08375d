// SPDX-License-Identifier: Apache-2.0
// The time of one simulated device: each command is an event with a start and an end, computed, never measured.
// Commands start in the order of issue, each when the one before it ends, on whatever queue: the device's time is
// their sum, which is what the compiler predicts. The same commands give the same times.
#pragma once

#include "runtime/core/duration.h"

namespace collage::runtime {

class SimClock {
 public:
  /// Adds a command of this length. Returns when it ends. Saturates at Duration::max().
  Duration issue(Duration length);
  Duration now() const { return now_; }

 private:
  Duration now_;
};

}  // namespace collage::runtime
