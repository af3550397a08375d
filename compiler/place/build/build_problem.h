// SPDX-License-Identifier: Apache-2.0
// From a model and rule files to the placement problem: the candidates of all active backends on all their instances,
// the implicit host rule, pins, partitions that the model already has, and the conversions of every value.
//
// Expects a verified graph and a checked RuleSet. After: every node has a candidate, or an error says why not.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/build/built_problem.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/candidates/host_cost.h"
#include "compiler/place/costs/cost_floor.h"
#include "compiler/place/costs/cost_source.h"
#include "compiler/place/problem/problem.h"
#include "runtime/support/diagnostic.h"

namespace collage::place {

/// How `build_problem` searches where it measures lazily: with the strategy and within the limits that are to be used
/// afterwards. A probe may be any good solution.
struct LazyMeasuring {
  MachineLimits machine;
  std::function<std::optional<Solution>(const BuiltProblem& built, bool is_probe)> solve;
};

struct BuildOptions {
  GrowthLimits growth;
  CostSource* costs = nullptr;          ///< of candidates that are to be measured; null: their estimates count
  const LazyMeasuring* lazy = nullptr;  ///< null: all of these are measured
  HasCode has_code;                     ///< of the implicit host's estimates; empty: all operators have code
  std::vector<Constraint> constraints;
  const ir::Placement* offered = nullptr;  ///< partitions that join the candidates, whether growth makes them or not
  bool lists_regions = false;            ///< of large engines as candidates, too, instead of joining them in the search
  const ir::Placement* fixed = nullptr;  ///< partitions of the input, to be kept
  /// Matches of the backends, where an earlier problem of the same graph found them; null: rules are matched here.
  const Table<BackendId, BackendMatches>* matches = nullptr;
};

/// Returns nullopt after an error, or where the source of costs was stopped.
std::optional<BuiltProblem> build_problem(const ir::Graph& graph, const ir::RuleSet& registered,
                                          const ActiveBackends& backends, support::Diagnostics& diags,
                                          const BuildOptions& options = {});

}  // namespace collage::place
