// SPDX-License-Identifier: Apache-2.0
// Concurrent plans: the order of their steps, and how long buffers must keep their bytes where steps overlap.
#pragma once

#include <vector>

#include "compiler/plan/build_plan.h"
#include "compiler/plan/liveness.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

/// Sorts the steps into a good order (core/schedule.h), in which a partition's results are there before the steps that
/// read them, views too. Expects buffers that share no bytes but those that they must. Returns the new index of each
/// step.
std::vector<size_t> order_steps(runtime::Plan& plan, const std::vector<PartitionResults>& results);

/// As `live_ranges`, for steps that overlap. A step that starts while another may still be running counts as one that
/// runs with it: a buffer lives until all steps that follow are sure to start after its last user has finished.
///
///     a: copy in x   b: launch reads x   c: copy in y      x lives until c is over: it may run together with b
///
/// Expects the same of buffers.
std::vector<LiveRange> concurrent_live_ranges(const runtime::Plan& plan);

}  // namespace collage::plan
