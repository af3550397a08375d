// SPDX-License-Identifier: Apache-2.0
// The work of one simulated device: the length of each command is computed, never measured, and the clock adds them up.
// Which commands overlap is not its business: the executor places them in time by the event model (core/schedule.h),
// in sequence or, in a concurrent plan, on separate queues and links.
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
