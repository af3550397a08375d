// SPDX-License-Identifier: Apache-2.0
// What libraries take of the memory in which they run, beside the arena and the constants of the plan.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::plan {

/// By memory space of the plan: the constants that libraries have from it, as the model has them. What they make of
/// these is known once the programs are prepared (library_memory.h).
std::vector<size_t> library_bytes(const runtime::Plan& plan);

}  // namespace collage::plan
