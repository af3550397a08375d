// SPDX-License-Identifier: Apache-2.0
// The report of a compilation: the summary on the terminal and the placement as JSON. Plain data and its printers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/place/objectives/objective.h"
#include "compiler/plan/build_plan.h"
#include "compiler/report/quantize_report.h"
#include "compiler/report/time_spent.h"
#include "runtime/core/duration.h"
#include "runtime/core/wrapped.h"

namespace collage::report {

using place::Cost;
using runtime::Duration;

/// One active backend in the summary.
struct BackendRow {
  std::string backend;
  std::string absent;  ///< why it cannot be used, or empty
  size_t rules = 0;
  std::vector<std::string> refused;  ///< reasons with their counts, the most frequent first
  bool is_simulated = false;
  bool is_unnamed_model = false;  ///< absent, because it is a model of a chip that nobody named
};

struct Report {
  std::string strategy;
  std::vector<BackendRow> backends;  ///< in the order of registration; `host` always
  std::string rule_summary;          ///< `host 4, npu 3: 7 rules`
  std::string numerics;              ///< of generated code; empty: the default
  std::string rewrites;              ///< `layer_norm 12x`; empty: none was applied
  size_t candidates = 0;
  size_t distinct = 0;    ///< by structure, formats and backend: those that would be measured apart
  size_t truncated = 0;   ///< seeds whose growth a cap stopped
  std::string costs;      ///< counts and time of measuring; empty: nothing was measured
  size_t measured = 0;    ///< distinct candidates measured now
  size_t runs = 0;        ///< timed ones, of those
  size_t compiled = 0;    ///< kernels, for those
  size_t cached = 0;      ///< and those known from before
  size_t not_needed = 0;  ///< and those that were not measured
  double could_save = 0;  ///< of the placement's cost: what those could, at their bounds
  const place::Objective* objective = place::default_objective();
  Cost value;          ///< of the objective
  Duration predicted;  ///< latency: the steps in sequence
  Cost bound;          ///< of `value`
  bool optimal = false;
  bool has_bound = false;   ///< other strategies than `optimal` prove nothing
  bool is_stopped = false;  ///< the user ended the search
  bool searched = true;     ///< false: the model was placed already
  bool is_known = false;    ///< the search of an earlier compilation found it
  uint64_t states = 0;
  double search_seconds = 0;
  std::vector<std::pair<std::string, Cost>> baselines;  ///< other strategies and their values
  /// Texts of limits that keep the placement from being cheaper: `max partitions 3` of vx3 (vx3.rules:19), and by how
  /// much.
  std::vector<std::pair<std::string, Cost>> limits;
  std::string considered;                    ///< how `--candidate-placement` compares
  std::string evolved;                       ///< what `evolve` measured
  std::string rivals;                        ///< plans that were timed beside the best one
  std::optional<Duration> timed;             ///< the plan as a whole, beside these
  std::string certified;                     ///< what `--certificate` wrote and proved
  std::vector<plan::Uncompiled> uncompiled;  ///< nodes that the host runs on reference kernels
  codegen::JitStats code;                    ///< of the host's kernels
  std::optional<QuantizeReport> quantized;   ///< of `--calibrate`
  std::string wrote;
  TimeSpent spent{};
};

/// The summary, as lines of at most `width` columns.
std::string summary(const ir::Graph& graph, const ir::Placement& placement, const Report& report,
                    size_t width = runtime::kUsualWidth);

/// The JSON of a placement. Nodes are named by their first result.
std::string placement_json(const ir::Graph& graph, const ir::Placement& placement, const Report& report);

}  // namespace collage::report
