// SPDX-License-Identifier: Apache-2.0
// What the page of `--report` shows, as one document. Its numbers are those of `--json`, `--json=FILE`, `compare
// --json=FILE`, `--trace` and `collagec bench`, written by the same functions; no cost is worked out here.
//
//     summary      the document of `--json`; with `diff` its head alone
//     about        {objective, unit, sums_times, models, file, verdict}: `unit` of the objective: s or J; `models`:
//                  backends that are models of chips; `file`: the name of the model's file; `verdict`:
//                  believed_time.h, absent where it says nothing
//     graph        graph_data.h
//     placements   [{name, placement, given, partitions, blocks}], graph_data.h; `placement` as `--json=FILE`
//                  writes it, absent where it is that of `summary`. With `compare` one for each strategy that found
//                  one. `given`: {by, nodes} that were placed before the search: what it proved holds only for the
//                  others. Absent: none
//     choices      node_choices.h
//     search       [{seconds, states, cost, bound}]: what the search had reached, and at last what it found; `cost`
//                  absent before the first solution; empty where nothing was searched now, or the objective counts
//                  steps that overlap
//     timeline, memory   of the first placement: trace_data.h; absent where no plan can be built. `memory` also has
//                  `libraries`: {constants, packed, is_least}, what libraries keep of constants, in bytes
//                  (plan/library_memory.h), absent where they keep none; without a plan it has only what is in use
//     bench        the times of `collagec bench --json`
//     profile      time_data.h, of the first placement; absent where no kernel was timed
//     lost         texts of devices that were lost in a run, absent where none was: another placement ran from then on,
//                  and times of that are left out
//     difference   of two placements: report/placement_diff.h
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/report/profile.h"
#include "compiler/report/report.h"
#include "runtime/runner/bench.h"
#include "runtime/runner/trace.h"

namespace collage::page {

/// Results that a command collects for the page.
struct Findings {
  search::SearchLog search{};
  std::optional<runner::Trace> trace{};  ///< of a run
  std::optional<runner::BenchReport> bench{};
  std::optional<report::Profile> profile{};
  std::vector<std::string> lost{};  ///< devices, in a run; `trace` and `bench` are of runs before
};

/// Nodes that were placed before the search.
struct GivenPlaces {
  std::string by;  ///< `the model`, `the placement file a.plan`
  std::vector<ir::NodeId> nodes{};
};

/// The nodes of `written`, which comes from the placement file of this name, or from the model where the name is empty.
GivenPlaces given_places(const std::string& file, const ir::Placement& written);

struct ShownPlacement {
  std::string name;              ///< of the strategy, or of the file
  search::FoundPlacement found;  ///< of a model that came placed, the placement alone
  report::Report report;
  GivenPlaces given{};
  bool is_in_summary = false;
};

struct ReportInput {
  const compilation::Compilation& compilation;
  const compilation::Candidates& candidates;  ///< choices of other backends are listed for these
  const support::SourceManager& sources;
  nlohmann::ordered_json summary;
  std::vector<ShownPlacement> placements;
  const Findings& findings;
  const runtime::Plan* plan = nullptr;  ///< of the first placement; null: it is outlined (plan/build_plan.h)
  std::optional<nlohmann::ordered_json> difference{};
};

nlohmann::ordered_json report_data(const ReportInput& input);

}  // namespace collage::page
