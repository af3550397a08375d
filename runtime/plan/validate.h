// SPDX-License-Identifier: Apache-2.0
// Plans also come from packages on disk. The executor's assumptions about a plan are checked once, before it loads the
// plan.
#pragma once

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// After success: indices are in range, buffers lie inside their region and fit their operands' spaces, sizes do not
/// overflow, every constant buffer has exactly one value, every operator has a reference kernel where one is called,
/// and its operands there are such as its kernel takes for granted, as far as kernels/check_call.h knows. Symbols are
/// not looked up. What compiled code does with its buffers nobody can say: who wrote it is trusted, or its plan is not
/// run.
Status validate(const Plan& plan);

}  // namespace collage::runtime
