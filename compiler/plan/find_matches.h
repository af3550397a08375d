// SPDX-License-Identifier: Apache-2.0
// Finds the matches of partitions that have none yet: their text only names rules, or a rewrite changed their nodes.
// A placement that the search made has the matches that were priced, and is never matched again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/match/matcher.h"
#include "compiler/plan/targets.h"

namespace collage::plan {

/// The partitions of one graph, which must not change. Each backend is matched once, when it is first asked for.
class PartitionMatcher {
 public:
  explicit PartitionMatcher(const ir::Graph& graph) : graph_(graph) {}

  /// Finds disjoint matches of a backend, which has rules, that make up exactly `partition.nodes`, of the rules that it
  /// names; of any rules where it names none. Returns nullopt if there are none, or none was found in a bounded number
  /// of steps.
  std::optional<std::vector<ir::ChosenMatch>> find(const BackendTarget& backend, const ir::Partition& partition);

 private:
  const ir::Graph& graph_;
  std::map<std::string, std::vector<match::Match>> matches_;  ///< by backend
};

/// Gives all partitions that name rules their matches. Returns the name of the first whose rules do not match there.
std::optional<std::string> find_matches(const ir::Graph& graph, const PlanTargets& targets, ir::Placement* placement);

}  // namespace collage::plan
