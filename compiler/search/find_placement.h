// SPDX-License-Identifier: Apache-2.0
// One strategy, from the placement problem to a placement that has been priced independently. `Compilation`,
// `compare` and `diff` all come here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/place/costs/noise.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/place/solve.h"
#include "compiler/place/strategies.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/targets.h"
#include "compiler/request/work_listener.h"
#include "runtime/core/machine.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_cache.h"

namespace collage::driver {

using place::Cost;
using runtime::Duration;

struct Program;

/// What an exact search had reached, step by step. Where the memory of devices asks for several searches, the steps of
/// each follow those of the one before, with seconds and states from 0.
using SearchLog = std::vector<place::SearchProgress>;

/// What all searches of one compilation share.
struct SearchInput {
  const ir::Graph& graph;
  const place::BuiltProblem& built;
  const ir::RuleSet& rules;
  const ir::Placement& written;  ///< partitions of the model or a plan: never joined with others, they keep their names
  std::vector<place::MemoryLimit> limits{};
  place::SearchOptions options{};
  const place::Objective* objective = place::default_objective();
  runtime::Machine machine{};                   ///< of objectives with overlap
  const place::BuiltProblem* priced = nullptr;  ///< `built` with the prices of the objective, where it has its own
  const WorkListener* listener = nullptr;       ///< null: none
  support::FileCache* cache = nullptr;          ///< of compiled code, where placements are timed; null: none
  const plan::PlanTargets* targets = nullptr;   ///< whose memory plans are held against; null: they are not
  SearchLog* log = nullptr;                     ///< of searches with a listener; null: none is kept
  /// Plans over hosts with limits of memory are compiled, so that what their code keeps is held against the limits.
  bool compiles = false;
};

/// The same search of another problem of the graph, which has the prices of the objective; without a listener and a log. It
/// compiles nothing.
SearchInput with_problem(const SearchInput& input, const place::BuiltProblem& built);

struct FoundPlacement {
  ir::Placement placement;                 ///< after partitions were joined where their backend wants it
  std::vector<place::CandidateId> chosen;  ///< candidates of the problem, as the search chose them
  place::Solution solution;                ///< what it was made of, before partitions were joined
  /// Of which these are; null: that of the input.
  std::shared_ptr<const place::Problem> problem = nullptr;
  /// Costs of chosen candidates that the search did without.
  std::vector<std::pair<place::CandidateId, Cost>> measured_later{};
  std::vector<place::MeasuredPart> measured;  ///< of those, the ones whose cost was measured
  Cost predicted;  ///< what the objective says of the placement, by code that the searches do not share
  Cost bound;
  bool optimal = false;
  uint64_t states = 0;
  bool is_known = false;  ///< by an earlier search of the same problem
  double seconds = 0;     ///< of the search
  /// Memories that its plan exceeds, of the partitions as the search chose them where not even these fit.
  std::vector<plan::DeviceMemory> exceeded{};
  /// Of the placement, where the search compiled it without a warning; else null.
  std::shared_ptr<const Program> program = nullptr;
};

/// The objective's value of a placement.
Cost objective_value(const SearchInput& input, const ir::Placement& placement);

/// `solve_within_memory` under the options of the input, reported to its listener.
std::optional<place::Solution> solve(const SearchInput& input, const place::BuiltProblem& built,
                                     const place::Strategy& strategy, std::string* why = nullptr);

/// The best placement whose plan fits into the memory of devices and hosts. The search counts what no plan can do without
/// (problem.h). Where the plan needs more, the same solution is tried unjoined; then the search learns which constants the code
/// of its candidates keeps (learned_constants.h), or has that much less memory, in the end none. What is proven is proven by
/// the first count, which is never too high: a plan that later ones lead to is optimal only if it costs that bound. Nothing if
/// the strategy finds no placement; `why` then says so in one sentence.
std::optional<FoundPlacement> find_placement(const SearchInput& input, const place::Strategy& strategy,
                                             std::string* why);

/// A solution of the problem as a placement: partitions joined where their backend wants it, and priced anew.
FoundPlacement to_found_placement(const SearchInput& input, const place::Solution& solution);

/// What simpler strategies would have cost, as label and prediction: the price of not searching.
std::vector<std::pair<std::string, Cost>> simpler_plans(const SearchInput& input);

}  // namespace collage::driver
