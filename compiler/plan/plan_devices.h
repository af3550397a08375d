// SPDX-License-Identifier: Apache-2.0
// The devices of a plan whose steps are known. Each memory but the first host's has one, with the links that the plan
// uses: to the host at which it stands, and to what it exchanges values with.
//
//     npu[0] -> npu[1], npu[2] -> host   =>   npu[0]: host, npu[1];  npu[1]: host, npu[0];  npu[2]: host
//
// A plan that is to run also has the links that it would use if equal devices did the work of lost ones
// (runtime/exec/relocate.h): here npu[2] has those to npu[0] and npu[1], too. Among many equal devices, neighbours
// may do so, so that the links of a device do not grow with the number of devices.
#pragma once

#include "compiler/plan/buffer_table.h"
#include "compiler/plan/plan_context.h"

namespace collage::plan {

/// Adds the devices that no launch has added, and the links of all. Links that a target has itself stay.
void add_devices(const PlanContext& context, BufferTable& buffers, runtime::Plan* plan);

}  // namespace collage::plan
