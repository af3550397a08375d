// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, from what its processor says of itself.
#pragma once

#include <string_view>

#include "compiler/place/costs/cost_floor.h"

namespace collage::measure {

/// Of `threads` threads; `cpuinfo`: the text of /proc/cpuinfo. What it does not say is assumed at its best.
place::MachineLimits machine_limits(std::string_view cpuinfo, int threads);

/// Of this machine.
place::MachineLimits machine_limits(int threads);

}  // namespace collage::measure
