// SPDX-License-Identifier: Apache-2.0
// The kernels of one group: what the JIT compiles and the C writer prints.
#pragma once

#include <vector>

#include "compiler/codegen/lower/lowering.h"

namespace collage::codegen {

/// In the order of execution; empty where the group has no lowering.
std::vector<KernelSketch> lower_group(const LoweringContext& context, const Group& group);

}  // namespace collage::codegen
