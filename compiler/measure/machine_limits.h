// SPDX-License-Identifier: Apache-2.0
// Upper limits of this machine's speed, from what its processor reports.
#pragma once

#include <string_view>

#include "compiler/place/costs/cost_floor.h"

namespace collage::measure {

/// Limits for `threads` threads; `cpuinfo` is the text of /proc/cpuinfo. Missing properties are assumed at their best.
place::MachineLimits machine_limits(std::string_view cpuinfo, int threads);

/// Limits of this machine.
place::MachineLimits machine_limits(int threads);

}  // namespace collage::measure
