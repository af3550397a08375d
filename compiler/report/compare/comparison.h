// SPDX-License-Identifier: Apache-2.0
// `compare`: every strategy on one problem: what it predicts, what it chose, and with `run` or `bench` what it
// takes and whether the results agree.
//
//     compare     strategy    predicted   ratio    measured   ratio  difference   partitions  conversions
//                 optimal      24.89 us    1.00      112 us    1.00     2.1e-07            6            0
//                 greedy       41.96 us    1.69           …
//                 strategy       host       npu
//                 optimal     100.0 %     0.0 %
//                 greedy            …
//
// With the policies of other systems, a column has how many times the value of the host alone each has, and a line says
// which cost more than that.
//
// Runs take turns, A B C A B C, so that a machine that slows down slows all of them down. Equal placements are measured
// once.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/place/strategies.h"
#include "compiler/plan/targets.h"
#include "compiler/search/found_placement.h"
#include "runtime/core/wrapped.h"
#include "runtime/runner/bind_inputs.h"

namespace collage::report {

struct Measured {
  double median = 0;      ///< seconds
  double least = 0;       ///< seconds
  double difference = 0;  ///< from the reference kernels: max |diff| / max |y|, the worst output
};

struct CompareRow {
  std::string strategy;
  std::optional<search::FoundPlacement> found;
  std::string failure;                 ///< why there is no placement, or why it does not run
  std::map<std::string, double> macs;  ///< backend -> share of all, 0 … 1
  std::optional<Measured> measured;
  bool is_policy = false;  ///< what another system would do
};

/// What the row of the host alone is called.
inline constexpr std::string_view kHostRow = "host only";

struct Comparison {
  std::string model;
  const place::Objective* objective = place::default_objective();  ///< of `predicted`
  std::vector<std::string> backends;  ///< those that some placement uses, in the order of the problem
  std::vector<CompareRow> rows;       ///< `optimal` first
  int runs = 0;                       ///< of each measured row
  double disagreement = 0;            ///< largest difference between the outputs of two strategies, as above
  std::string disturbance{};          ///< what went on beside the runs (measure/conditions.h), or empty
  bool has_estimates = false;         ///< costs are those of formulas
  bool has_models = false;            ///< some of the backends are models of chips, so that no time is a latency
};

/// Searches with every strategy: optimal, greedy, eager, merge, tvm, each backend alone with the host, the host alone,
/// with the policies of other systems if asked, and with `strategy` if it is none of these.
std::optional<Comparison> compare_strategies(const search::SearchInput& input, const place::Strategy& strategy,
                                             bool with_policies, support::Diagnostics& diags);

/// One more row, of a placement that was found otherwise.
void add_row(const search::SearchInput& input, const std::string& strategy, search::FoundPlacement found,
             Comparison& comparison);

/// Builds and runs every row that has a placement, `runs` times each. False after an error;
/// results that differ from the reference are one.
bool measure(const search::SearchInput& input, const plan::PlanTargets& targets, int runs,
             const std::vector<runner::BoundInput>& inputs, Comparison& comparison, support::Diagnostics& diags);

/// Lines of at most so many columns; a table that is wider is parted.
std::string print(const Comparison& comparison, size_t width = runtime::kUsualWidth);
/// The document of `compare --json=FILE`.
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace collage::report
