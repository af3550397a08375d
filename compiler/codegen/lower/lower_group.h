// SPDX-License-Identifier: Apache-2.0
// The kernels of one group, for the JIT and the C writer.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/kernel/lowering.h"

namespace collage::codegen {

/// Returns the kernels in the order of execution; empty if the group has no lowering.
std::vector<KernelSketch> lower_group(const LoweringContext& context, const Group& group);

/// Why a node of a group without kernels has no code.
std::string no_code_reason(const ir::Graph& graph, ir::NodeId node);

}  // namespace collage::codegen
