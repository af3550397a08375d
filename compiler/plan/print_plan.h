// SPDX-License-Identifier: Apache-2.0
// A plan as text for people (`--emit=plan`): spaces, devices, buffers, steps. Not read back.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/build_plan.h"
#include "runtime/plan/plan.h"

namespace collage::plan {

///     plan @stem predicted 41us
///     space host: 4096 arena, 9408 constants
///     buffer b0 %x: host f32[1, 3, 8, 8] at 0
///     step 0: convert b0 -> b1 cost 8.192us
///     step 1: p0 on npu[0] takes 41us
///       Relu(b1) -> b2
std::string print_plan(const runtime::Plan& plan);

/// A plan over the hosts of a cluster: its parts (part_plan.h), each after a line that names the host. When the steps
/// of all hosts are predicted to run follows, if they overlap.
///
///     // host[1]
///     plan @stem predicted 41us
///     …
///     // all hosts
///     at 0ps to 12us: p0 on host
///     at 12us to 17us: convert %a from host to host[1] on host - host[1]
std::string print_parts(const runtime::Plan& whole, const std::vector<BuiltPlan>& parts);

}  // namespace collage::plan
