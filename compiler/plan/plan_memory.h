// SPDX-License-Identifier: Apache-2.0
// What libraries take of the memory in which they run, beside the arena and the constants of the plan.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::plan {

/// By memory space of the plan: the constants that libraries have from it and keep. What else they allocate is not
/// known.
std::vector<size_t> library_bytes(const runtime::Plan& plan);

}  // namespace collage::plan
