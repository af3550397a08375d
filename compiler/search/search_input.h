// SPDX-License-Identifier: Apache-2.0
// What all searches of one compilation share: the problem of the graph, the limits and the objective.
#pragma once

#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/build/built_problem.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/problem/memory_limit.h"
#include "compiler/place/problem/search_options.h"
#include "compiler/plan/targets.h"
#include "runtime/core/machine.h"
#include "runtime/runner/work_listener.h"
#include "runtime/support/file_cache.h"

namespace collage::search {

using place::Cost;
using runtime::Duration;

/// What an exact search had reached, step by step. Where the memory of devices asks for several searches, the steps of
/// each follow those of the one before, with seconds and states from 0.
using SearchLog = std::vector<place::SearchProgress>;

struct SearchInput {
  const ir::Graph& graph;
  const place::BuiltProblem& built;
  const ir::RuleSet& rules;
  const ir::Placement& written;  ///< partitions of the model or a placement: never joined with others, names kept
  std::vector<place::MemoryLimit> limits{};
  place::SearchOptions options{};
  const place::Objective* objective = place::default_objective();
  runtime::Machine machine{};                      ///< of objectives with overlap
  const place::BuiltProblem* priced = nullptr;     ///< `built` with the prices of the objective, where it has its own
  const runner::WorkListener* listener = nullptr;  ///< null: none
  support::FileCache* cache = nullptr;             ///< of compiled code, where placements are timed; null: none
  const plan::PlanTargets* targets = nullptr;      ///< whose memory plans must fit into; null: not checked
  SearchLog* log = nullptr;                        ///< of searches with a listener; null: none is kept
  /// Plans over hosts with limits of memory are compiled, so that what their code keeps is held against the limits.
  bool compiles = false;

  /// Problems with the prices of the objective: its own, where it has them.
  const place::BuiltProblem& priced_problem() const { return priced != nullptr ? *priced : built; }
};

/// The same search of another problem of the graph, which has the prices of the objective; without a listener and a
/// log. It compiles nothing.
SearchInput with_problem(const SearchInput& input, const place::BuiltProblem& built);

}  // namespace collage::search
