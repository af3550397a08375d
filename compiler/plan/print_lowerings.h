// SPDX-License-Identifier: Apache-2.0
// What runs each partition, and what its rules ask for (`--emit=lowering`).
#pragma once

#include <string>

#include "compiler/plan/build_plan.h"

namespace collage::plan {

///     partition  on           rule           lowering
///     p0         npu(npu[0])  conv_act.Relu  sim "conv"(x = %x, w = %w, act = "Relu") -> %y
///     p1         host(host)   pointwise      host_jit "pointwise"() -> %z
///     p2         host(host)   -              host_jit, 3 ops
std::string print_lowerings(const ir::Graph& graph, const ir::Placement& placement, const PlanTargets& targets,
                            const BuiltPlan& built);

}  // namespace collage::plan
