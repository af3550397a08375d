// SPDX-License-Identifier: Apache-2.0
// Arithmetic that takes the same number of clock cycles whenever it runs, about 0.1 ms: each step needs the result of the
// one before, and no memory. Timed beside measurements it shows that the clock is slower than when it was calibrated, or that
// the thread does not have its processor.
#pragma once

#include "runtime/core/duration.h"

namespace collage::measure {

/// Runs it once and returns what it took.
runtime::Duration time_reference_kernel();

/// The least of many runs: what it takes undisturbed.
runtime::Duration calibrate_reference_kernel();

}  // namespace collage::measure
