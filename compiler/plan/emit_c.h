// SPDX-License-Identifier: Apache-2.0
// The host partitions of a plan as one C file (`--emit=c`).
#pragma once

#include <optional>
#include <string>

#include "compiler/plan/build_plan.h"

namespace collage::plan {

/// Functions are called as `lower c "symbol"` says, or like their partition. Nothing after errors: there is no host
/// partition, or one has an operator without generated code.
std::optional<std::string> emit_c(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                                  const BuiltPlan& built, support::Diagnostics& diags);

}  // namespace collage::plan
