// SPDX-License-Identifier: Apache-2.0
// Arithmetic that takes the same number of clock cycles whenever it runs, less than 0.1 ms: vectors are multiplied and
// added as fast as the processor can, and no memory is used. Timed beside measurements it shows that the clock is
// slower than when it was calibrated, that the thread does not have its processor, or that another thread of the same
// core, which may be of another virtual machine, takes a part of its vector units: then whatever multiplies is slower
// by as much as a factor of two.
#pragma once

#include <string>

#include "runtime/core/duration.h"

namespace collage::measure {

/// Runs it once and returns what it took.
runtime::Duration time_reference_kernel();

/// From this factor on the kernel counts as slowed down.
inline constexpr double kMostSlowdown = 1.25;

/// Returns the key of the kernel's time on a machine in the database.
std::string reference_key(const std::string& machine);

/// The median of some runs made now.
runtime::Duration usual_reference_time();

/// The least of many runs: what it takes undisturbed.
runtime::Duration calibrate_reference_kernel();

}  // namespace collage::measure
