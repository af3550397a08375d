// SPDX-License-Identifier: Apache-2.0
// Can what is placed run where it is placed?
#pragma once

#include "compiler/plan/plan_context.h"

namespace collage::plan {

/// Checks that backends, devices and formats exist, that each partition runs in the memory of its boundary values, that
/// its operators have kernels there, and that copies between devices and between hosts change nothing. Returns false
/// after an error.
bool check_placement(const PlanContext& context);

}  // namespace collage::plan
