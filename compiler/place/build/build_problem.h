// SPDX-License-Identifier: Apache-2.0
// From a model and rule files to the placement problem: the candidates of all active backends on all their instances,
// the implicit host rule, pins, partitions that the model already has, and the conversions of every value.
//
// Expects a verified graph and a checked RuleSet. After: every node has a candidate, or an error says why not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/placement.h"
#include "compiler/ir/rule_set.h"
#include "compiler/place/build/user_constraints.h"
#include "compiler/place/candidates/candidates.h"
#include "compiler/place/costs/cost_floor.h"
#include "compiler/place/costs/cost_source.h"
#include "compiler/place/problem/problem.h"
#include "compiler/support/diagnostic.h"

namespace collage::place {

/// Where a candidate comes from.
struct CandidateOrigin {
  int backend = -1;                ///< index into BuiltProblem::backends; -1: the implicit host rule
  std::vector<size_t> matches;     ///< into that backend's matches, in order of their first node
  std::vector<std::string> rules;  ///< their names
  int fixed = -1;                  ///< index of the partition of the input that it is
  int candidate = -1;              ///< index into that backend's candidates
  bool measured = false;           ///< its cost is to be measured
  bool is_open = false;            ///< and it was not: what it has is a bound
  Duration estimate = {};          ///< what it costs without a measurement
  Duration spread = {};            ///< of its measurement
  int measurement = -1;            ///< which one: CostSource::look_up
};

/// What lazy measuring did.
struct LazyStats {
  size_t rounds = 0;
  size_t not_needed = 0;  ///< distinct measurements that were not made
  size_t below = 0;       ///< costs that came out below their bound
};

struct BuiltProblem {
  Problem problem;
  std::vector<ir::ValueId> values;          ///< of Problem::values
  std::vector<CandidateOrigin> origins;     ///< of Problem::candidates
  std::vector<BackendCandidates> backends;  ///< of the active backends: matches, refusals, growth
  LazyStats lazy;
};

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
  std::vector<Wish> wishes;
  const ir::Placement* offered = nullptr;  ///< partitions that join the candidates, whether growth makes them or not
  bool lists_regions = false;  ///< of large engines as candidates, too, instead of joining them in the search
};

/// `fixed`: partitions of the input, to be kept. Nothing after an error.
std::optional<BuiltProblem> build_problem(const ir::Graph& graph, const ir::RuleSet& registered,
                                          const std::vector<ActiveBackend>& backends, const ir::Placement& fixed,
                                          support::Diagnostics& diags, const BuildOptions& options = {});

/// One candidate per line, by first node, in the order of their owners:
///
///     npu[0] npu {c, y} 1.9us rules conv_relu reads %x: npu[0] NHWC writes %y: npu[0] NHWC
std::string print_candidates(const ir::Graph& graph, const BuiltProblem& built);

/// Why this backend has no candidate with this node: the most telling refusal, or that no rule is about its operator.
/// `span` of the reason in the rule file, if it has one. Empty if the backend does have a candidate.
struct WhyNot {
  std::string message;
  support::Span span;
};
WhyNot why_not(const ir::Graph& graph, const ir::Backend& backend, const BackendCandidates& found, ir::NodeId node);

}  // namespace collage::place
