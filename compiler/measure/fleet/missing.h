// SPDX-License-Identifier: Apache-2.0
// Why the workers that are there do not measure what a compiler needs: what they announce, and what differs.
//
//     worker `w0` at lab7 is not asked for `npu`: other rules, `version 2` instead of `version 1`
//     worker `w1` at lab8 and 2 others are not asked: another build, collage 0.2 instead of collage 0.1
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/measure/fleet/queue.h"

namespace collage::measure::fleet {

/// Which reasons are given. `Mismatches`: another build, other rules or another cost program; for a compiler that can
/// measure itself. `All`: also that a worker is on another machine or measures other backends.
enum class Explain { Mismatches, All };

/// Returns a line for each reason. `offers`: the needs of live workers; others do not count.
std::vector<std::string> why_not_asked(const std::string& need, const std::vector<KnownWorker>& workers,
                                       const std::map<int64_t, std::vector<std::string>>& offers, Explain explain);

}  // namespace collage::measure::fleet
