// SPDX-License-Identifier: Apache-2.0
// The memory that the next search may count on, after the plan of a placement was too large.
#pragma once

#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/place/problem/memory_limit.h"
#include "compiler/plan/build_plan.h"

namespace collage::search {

/// Takes `attempt` + 1 times what was missing from each device. A device without partitions only passes values on: then
/// its neighbours get nothing.
void lower_limits(const ir::Placement& placement, const std::vector<plan::DeviceMemory>& devices, int attempt,
                  std::vector<place::MemoryLimit>* limits);

/// Leaves hosts alone, and what pins keep elsewhere.
void take_all_memory(const place::Problem& problem, std::vector<place::MemoryLimit>* limits);

}  // namespace collage::search
