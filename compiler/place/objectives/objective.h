// SPDX-License-Identifier: Apache-2.0
// What a placement is to be good at. An objective NAME is a row of objectives.def and a file that defines
// `objective_NAME`; code outside this folder asks for properties of an objective, never which one it is.
//
// The exact search minimizes a sum of costs. An objective either is that sum (of times, or of other prices for the same
// candidates and conversions), or has a value of its own for a schedule in which work overlaps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/problem/cost.h"
#include "compiler/place/schedule/schedule_value.h"
#include "runtime/support/diagnostic.h"

namespace collage::place {

struct Objective {
  /// The problem with other prices than times. Returns nullopt after an error.
  using Price = std::optional<BuiltProblem> (*)(const ir::Graph& graph, const ActiveBackends& backends,
                                                const BuiltProblem& built, support::Diagnostics& diags);

  std::string_view name;
  std::string_view description;             ///< in one line, for lists
  Price price = nullptr;                    ///< null: costs are times
  const ScheduleValue* schedule = nullptr;  ///< of work that overlaps; null: costs add up
  /// Whether joining partitions afterwards may make the value worse.
  bool keeps_partitions_apart = false;
  /// Whether inputs follow each other without end.
  bool is_stream = false;
  /// More about a value, for the summary: `, 120 inputs a second`; null: there is nothing.
  std::string (*remark)(Cost value) = nullptr;

  bool is_concurrent() const { return schedule != nullptr; }
  /// Whether the value is the sum of times that the search itself minimizes. Only then can it join regions, price
  /// splits, leave costs unmeasured, write a certificate and answer questions.
  bool sums_times() const { return schedule == nullptr && price == nullptr; }
};

#define OBJECTIVE(name) extern const Objective objective_##name;
#include "compiler/place/objectives/objectives.def"
#undef OBJECTIVE

/// In the order of objectives.def.
const std::vector<const Objective*>& all_objectives();
/// The first of them.
const Objective* default_objective();
/// All of them with their descriptions: `latency (…) | makespan (…)`.
std::string objectives_usage();

/// Why candidates that are split over several instances are left out; empty if they are not.
std::string why_no_splits(const Objective& objective);

/// Reads `--objective`; an unknown name is an error at `where`. Returns null after it.
const Objective* parse_objective(std::string_view text, const std::string& where, support::Diagnostics& diags);

}  // namespace collage::place
