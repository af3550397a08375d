// SPDX-License-Identifier: Apache-2.0
// Finds the matches of partitions that have none yet: their text only names rules, or a rewrite changed their nodes.
// A placement that the search made has the matches that were priced, and is never matched again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement.h"
#include "compiler/plan/targets.h"

namespace collage::plan {

/// Finds disjoint matches of a backend that make up exactly `partition.nodes`, of the rules that it names; of any rules
/// where it names none. Returns nullopt if there are none, or none was found in a bounded number of steps.
std::optional<std::vector<ir::ChosenMatch>> find_matches(const ir::Graph& graph, const BackendTarget& backend,
                                                         const ir::Partition& partition);

/// Gives all partitions that name rules their matches. Returns the name of the first whose rules do not match there.
std::optional<std::string> find_matches(const ir::Graph& graph, const PlanTargets& targets, ir::Placement* placement);

}  // namespace collage::plan
