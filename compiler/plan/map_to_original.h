// SPDX-License-Identifier: Apache-2.0
// Plans are built of rewritten models. Here they are mapped back to the model that was placed: callers such as
// `check` expect its ids.
#pragma once

#include "compiler/plan/build_plan.h"
#include "compiler/plan/expand_splits.h"
#include "compiler/plan/rewrite_partitions.h"

namespace collage::plan {

/// Maps a plan of rewritten bodies to the original model.
void map_to_original(const ir::Graph& graph, const ir::Placement& placement, const RewrittenModel& rewritten,
                     BuiltPlan* built);

/// Maps a plan of expanded splits to the original placement. The parts stay partitions of the plan, after the others;
/// what a split partition makes is what its join makes.
void map_to_original(const ir::Graph& graph, const ir::Placement& placement, const ExpandedSplits& splits,
                     BuiltPlan* built);

}  // namespace collage::plan
