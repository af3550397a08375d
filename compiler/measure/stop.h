// SPDX-License-Identifier: Apache-2.0
// Measuring that may be asked to stop: whatever waits looks at the flag again and again.
#pragma once

#include <atomic>
#include <chrono>

#include "compiler/measure/measurement.h"

namespace collage::measure {

/// Once true, measuring ends, and what is being measured is given up. Null: nobody asks for that.
using StopFlag = const std::atomic<bool>*;

inline bool is_set(StopFlag stop) {
  return stop != nullptr && stop->load(std::memory_order_relaxed);
}

/// How long a wait goes on before it looks at the flag again.
inline constexpr std::chrono::milliseconds kStopPause{100};

/// What is said of a candidate that was not measured for that reason.
inline Measurement stopped_measurement() {
  return passing_failure("measuring was stopped");
}

}  // namespace collage::measure
