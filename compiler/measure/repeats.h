// SPDX-License-Identifier: Apache-2.0
// When a candidate is measured again: one rule for a compiler that measures and for a worker of a fleet.
//
//     a failure that does not last     once more, here in a new process; in a fleet the queue decides (fleet/queue.h),
//                                      which asks another worker
//     a cost that was disturbed        once more, and the better of the two counts (after_repeat); not after three
//                                      repeats in a row that were disturbed, too: the machine is busy
#pragma once

#include <functional>

#include "compiler/measure/measurement.h"

namespace collage::measure {

using Measuring = std::function<Measurement()>;

/// Measures, and once more after a failure that does not last.
Measurement with_second_try(const Measuring& measure);

/// Repeats measurements that were disturbed.
class Repeats {
 public:
  /// Returns `first`; if that was disturbed and repeats have not stopped, the better one of `first` and `again()`. A
  /// `first` without a disturbance shows that the machine is quiet: repeats start again.
  Measurement better_of(const Measurement& first, const Measuring& again);
  /// Whether what is disturbed is no longer measured again.
  bool have_stopped() const;

 private:
  int disturbed_ = 0;  ///< repeats in a row that were disturbed, too
};

}  // namespace collage::measure
