// SPDX-License-Identifier: Apache-2.0
// When a candidate is measured again: one rule for a compiler that measures and for a worker of a fleet.
//
//     a failure that does not last     once more, here in a new process; in a fleet the queue decides (fleet/queue.h), which
//                                      asks another worker
//     a cost that was disturbed        once more, and what says more counts; not after three in a row where that was in
//                                      vain: whatever disturbs goes on
#pragma once

#include <functional>

#include "compiler/measure/measurement.h"

namespace collage::measure {

using Measuring = std::function<Measurement()>;

/// Measures, and once more after a failure that does not last.
Measurement with_second_try(const Measuring& measure);

/// Repeats of what was disturbed.
class Repeats {
 public:
  /// Returns what says more: `first`, or another measurement if that one was disturbed and repeating may be of use. One that was
  /// not disturbed shows that the machine is quiet again.
  Measurement better_of(const Measurement& first, const Measuring& again);
  /// Whether what is disturbed now is not measured again.
  bool are_in_vain() const;

 private:
  int in_vain_ = 0;  ///< in a row
};

}  // namespace collage::measure
