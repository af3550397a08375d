// SPDX-License-Identifier: Apache-2.0
// What a compilation tells its user: the summary on the terminal and `--placement-json`. Plain data and two printers.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/placement.h"
#include "compiler/place/problem/objective.h"
#include "runtime/core/duration.h"
#include "runtime/plan/plan.h"

namespace collage::driver {

using runtime::Duration;

/// One active backend in the summary.
struct BackendRow {
  std::string backend;
  std::string absent;  ///< why it is not there, or empty
  size_t rules = 0;
  std::vector<std::string> refused;  ///< reasons with their counts, the most frequent first
};

struct Report {
  std::string strategy;
  std::vector<BackendRow> backends;  ///< in the order of registration; `host` always
  std::string rule_summary;          ///< `host 4, npu 3: 7 rules`
  std::string rewrites;              ///< `layer_norm 12x`; empty: none was applied
  size_t candidates = 0;
  size_t distinct = 0;    ///< by structure, formats and backend: those that would be measured apart
  size_t truncated = 0;   ///< seeds whose growth a cap stopped
  std::string costs;      ///< what measuring them took; empty: nothing was measured
  size_t measured = 0;    ///< distinct candidates measured now
  size_t cached = 0;      ///< and those known from before
  size_t not_needed = 0;  ///< and those that the proof of the plan did without
  place::Objective objective = place::Objective::Latency;
  Duration value;      ///< what the objective says of the plan
  Duration predicted;  ///< one after the other
  Duration bound;      ///< of `value`
  bool optimal = false;
  bool has_bound = false;  ///< other strategies than `optimal` prove nothing
  bool searched = true;    ///< false: the model came placed
  uint64_t states = 0;
  double search_seconds = 0;
  std::vector<std::pair<std::string, Duration>> instead;  ///< other strategies and their values
  std::string offered;                                    ///< what became of `--candidate-plan`
  std::string evolved;                                    ///< what `evolve` measured
  std::map<std::string, size_t> uncompiled;  ///< nodes that the host runs on reference kernels, by operator
  std::string wrote;
};

/// Operators that host steps call reference kernels for.
std::map<std::string, size_t> uncompiled_ops(const runtime::Plan& plan);

/// The lines of section 9 of the design.
std::string summary(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

/// The JSON that `--placement-json` promises. Nodes are named by their first result.
std::string placement_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

}  // namespace collage::driver
