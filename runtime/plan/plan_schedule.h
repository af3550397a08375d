// SPDX-License-Identifier: Apache-2.0
// A plan as tasks of the event model (core/schedule.h): one task a step.
//
// A step waits for the steps that write what it reads, and for all earlier ones that still use memory that it writes.
// That is decided by bytes, not by names, so that a concurrent plan is right wherever its buffers lie.
#pragma once

#include <vector>

#include "runtime/core/machine.h"
#include "runtime/core/schedule.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

Machine machine_of(const std::vector<DeviceSpec>& devices);

/// Buffers that each step touches, each once, ascending.
std::vector<std::vector<BufferId>> touched_buffers(const Plan& plan);

/// By step. The lengths are the predicted ones. Buffers are written by the first step that touches them and read by
/// the others.
std::vector<Task> tasks_of(const Plan& plan, Machine& machine);

/// By step, of a plan that is not concurrent: one after the other, but for lanes. The lengths are left open.
std::vector<Task> tasks_in_lanes(const Plan& plan);

/// True for steps whose time is simulated.
std::vector<bool> simulated_steps(const Plan& plan);

}  // namespace collage::runtime
