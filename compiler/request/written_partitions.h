// SPDX-License-Identifier: Apache-2.0
// Models that come placed, in whole or in part: what their text says is kept.
#pragma once

#include "compiler/ir/placement/placement.h"
#include "compiler/place/build/build_problem.h"

namespace collage::request {

/// True if the text leaves nothing to search: every node is in one of its partitions.
bool is_fully_placed(const ir::Graph& graph, const ir::Placement& written);

/// The written placement itself, with the costs that the text leaves out: a partition's from the candidate that it is,
/// a conversion's from the problem. Expects that `built` was made with `written` as its fixed partitions.
ir::Placement complete_costs(const ir::Placement& written, const place::BuiltProblem& built);

/// Gives partitions of a found placement that are in the text (same nodes) the names they have there; others keep
/// theirs unless that is now taken.
void keep_written_names(const ir::Placement& written, ir::Placement& placement);

}  // namespace collage::request
