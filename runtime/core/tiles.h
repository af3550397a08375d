// SPDX-License-Identifier: Apache-2.0
// Whether this process may use the processor's tile registers: AMX with products of bf16.
#pragma once

#include <string>

namespace collage::runtime {

/// Why it may not; empty if it may. The first call asks the kernel, which saves tiles only for processes that asked.
const std::string& tile_obstacle();

}  // namespace collage::runtime
