// SPDX-License-Identifier: Apache-2.0
// Buffers get their places in the arenas of their spaces.
#pragma once

#include "compiler/plan/buffer_table.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/plan_context.h"

namespace collage::plan {

/// Decides which steps of a concurrent plan overlap, and gives every buffer its offset. Expects the devices of the plan
/// (plan_devices.h). Returns false after an error: a device or a host without room.
bool assign_memory(const PlanContext& context, BufferTable& buffers, BuiltPlan* built);

}  // namespace collage::plan
