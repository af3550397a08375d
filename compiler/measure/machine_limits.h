// SPDX-License-Identifier: Apache-2.0
// The most that this machine can compute and load in a second, for the floors of costs.
#pragma once

#include "compiler/place/costs/cost_floor.h"
#include "runtime/core/host_capabilities.h"

namespace collage::measure {

/// With `threads` threads.
place::MachineLimits machine_limits(const runtime::HostCapabilities& host, int threads);

/// This machine's.
place::MachineLimits machine_limits(int threads);

}  // namespace collage::measure
