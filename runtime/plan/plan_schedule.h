// SPDX-License-Identifier: Apache-2.0
// A plan as tasks of the event model (core/schedule.h): one task per step.
//
// A step waits for the steps that write what it reads, and for all earlier ones that still use memory that it writes.
// Dependencies compare byte ranges, not names, so a concurrent plan is correct for any placement of its buffers.
#pragma once

#include <vector>

#include "runtime/core/machine.h"
#include "runtime/core/schedule.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

Machine machine_of(const std::vector<DeviceSpec>& devices);

/// Buffers that each step touches, each once, ascending.
std::vector<std::vector<BufferId>> touched_buffers(const Plan& plan);

/// Tasks by step, with the predicted lengths. The first step that touches a buffer writes it unless it is sure to read
/// it, the others read it.
std::vector<Task> tasks_of(const Plan& plan, Machine& machine);

/// The same, where steps count as touching `touched`: at least what `touched_buffers` gives.
std::vector<Task> tasks_of(const Plan& plan, Machine& machine, const std::vector<std::vector<BufferId>>& touched);

/// Tasks by step of a plan that is not concurrent: in sequence except for lanes. Lengths are not set.
std::vector<Task> tasks_in_lanes(const Plan& plan);

/// When each step runs as predicted; `tasks`: those of the plan, with their lengths.
Timeline predicted_timeline(const Plan& plan, const std::vector<Task>& tasks);

/// True for steps whose time is simulated: those that a simulated device takes part in. `is_simulated`: by device of
/// the plan.
std::vector<bool> simulated_steps(const Plan& plan, const std::vector<bool>& is_simulated);

}  // namespace collage::runtime
