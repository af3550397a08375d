// SPDX-License-Identifier: Apache-2.0
// How much memory a plan needs, and for what, before any is asked of the system: a system that promises more than it
// has ends the process later.
#pragma once

#include <string>

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// The largest need of one memory, with the buffer that has most of it:
/// `274877907072 bytes of memory, 274877906944 of them for `c` (ConstantOfShape)`.
std::string memory_need(const Plan& plan);

/// Fails where that is more than this machine has, or than this process may take.
Status check_memory(const Plan& plan);

}  // namespace collage::runtime
