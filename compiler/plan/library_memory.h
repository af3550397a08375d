// SPDX-License-Identifier: Apache-2.0
// What libraries keep of constants in the memory in which they run, once they are loaded. Each program is prepared for
// it, as for a plan (runtime/libraries/library.h); nothing is packed.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/plan/plan.h"

namespace collage::plan {

struct LibraryMemory {
  size_t constants = 0;  ///< bytes, as the model has them; what several programs read counts once
  size_t packed = 0;     ///< bytes of copies, which each program has of its own
  /// Some library may keep more. One that does not tell the size of its copies has them as large as the weights; of
  /// plug-ins, and of libraries that are not here, only what they are given counts.
  bool is_least = false;
};

/// By memory space of the plan. `threads`: that libraries will run on; what they pack may depend on it.
std::vector<LibraryMemory> library_memory(const runtime::Plan& plan, int threads);

}  // namespace collage::plan
