// SPDX-License-Identifier: Apache-2.0
// Partitions become steps in execution order; each conversion stands right before the first step that needs it.
#pragma once

#include "compiler/plan/buffer_table.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/plan_context.h"

namespace collage::plan {

/// Adds steps, inputs and outputs to `built->plan`, and says where the results of partitions are. Expects
/// `built->lowerings`, and a placement that was checked (check_placement.h). Returns false after an error.
bool emit_steps(const PlanContext& context, BufferTable& buffers, BuiltPlan* built);

/// Index of the device of an instance, or of another host than the first, in Plan::devices; it is added at first use.
int device_of(const PlanTargets& targets, BufferTable& buffers, runtime::Plan& plan, const std::string& instance);

}  // namespace collage::plan
