// SPDX-License-Identifier: Apache-2.0
// Whole plans timed beside each other, in turn, so that a machine that slows down slows all of them down.
#pragma once

#include <string>
#include <vector>

#include "compiler/measure/time_candidate.h"

namespace collage::measure {

/// One measurement for each plan (plan_text.h), end to end. That of the first is its median; of each other, that times
/// the median of the ratios of their runs, and the spread is the error of that ratio. A plan that cannot be built or
/// run has the reason.
std::vector<Measurement> time_plans(const std::vector<std::string>& plans, const plan::PlanTargets& targets,
                                    const TimingOptions& options);

}  // namespace collage::measure
