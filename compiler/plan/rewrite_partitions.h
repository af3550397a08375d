// SPDX-License-Identifier: Apache-2.0
// `phase post` of the backends: their rewrites on the bodies of their partitions, before these are lowered.
//
//     partition on npu { %r = Relu(%x)  %y = Relu(%r) }   =>   partition on npu { %y = Relu(%x) }
//
// What other partitions see of a body stays: its results keep their names, types and formats.
#pragma once

#include <optional>

#include "compiler/ir/placement/placement.h"
#include "compiler/plan/targets.h"

namespace collage::plan {

struct RewrittenModel {
  ir::Graph graph;
  ir::Placement placement;              ///< partitions in the order of the one before
  std::vector<ir::ValueId> old_values;  ///< by new value: the one before; invalid where there is none
};

/// Nothing where no rewrite applies. Expects what `build_plan` does.
std::optional<RewrittenModel> rewrite_partitions(const ir::Graph& graph, const ir::Placement& placement,
                                                 const PlanTargets& targets);

}  // namespace collage::plan
