// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/report_data.h"

#include <algorithm>

#include "compiler/page/believed_time.h"
#include "compiler/page/graph_data.h"
#include "compiler/page/node_choices.h"
#include "compiler/page/time_data.h"
#include "compiler/page/trace_data.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/library_memory.h"
#include "compiler/report/json_text.h"
#include "compiler/report/simulated.h"
#include "runtime/runner/run_json.h"

namespace collage::page {
namespace {

using nlohmann::ordered_json;

ordered_json progress_data(double seconds, uint64_t states, place::Cost cost, place::Cost bound) {
  ordered_json step = {{"seconds", seconds}, {"states", states}, {"bound", bound.value()}};
  if (cost != place::Cost::max()) step["cost"] = cost.value();
  return step;
}

/// What was reached by when, up to what the search proved in the end. Searches that serve the one that counts, with
/// fewer candidates or other limits, report as well: of these only what holds for all placements is taken.
ordered_json search_data(const search::SearchLog& log, const report::Report& report) {
  ordered_json steps = ordered_json::array();
  if (log.empty() || report.objective->is_concurrent()) return steps;
  constexpr size_t kShown = 1000;
  const size_t stride = log.size() / kShown + 1;
  double seconds = 0;
  place::Cost cost = place::Cost::max(), bound;
  for (size_t i = 0; i < log.size(); ++i) {
    const place::SearchProgress& now = log[i];
    if (now.seconds < seconds || now.bound > report.bound) continue;
    seconds = now.seconds;
    bound = std::max(bound, now.bound);
    if (now.cost >= report.value) cost = std::min(cost, now.cost);
    if (i % stride == 0) steps.push_back(progress_data(seconds, now.states, cost, bound));
  }
  steps.push_back(progress_data(std::max(seconds, report.search_seconds), report.states, report.value, report.bound));
  return steps;
}

ordered_json shown_placement(const ReportInput& input, const ShownPlacement& shown) {
  const search::SearchInput search = input.compilation.search_input(input.candidates);
  const report::ExplainedPlacement explained{
      search,        input.compilation.strategy(),        input.compilation.active(), shown.found,
      input.sources, input.compilation.costs() != nullptr};
  ordered_json json = {{"name", shown.name}};
  if (!shown.is_in_summary) {
    json["placement"] = report::placement_object(input.compilation.graph(), shown.found.placement, shown.report);
  }
  if (!shown.given.nodes.empty()) {
    json["given"] = {{"by", shown.given.by}, {"nodes", ordered_json::array()}};
    for (ir::NodeId node : shown.given.nodes) json["given"]["nodes"].push_back(node.slot());
  }
  json.update(placement_data(explained));
  return json;
}

ordered_json choices_data(const ReportInput& input) {
  const search::SearchInput search = input.compilation.search_input(input.candidates);
  const report::ExplainedPlacement explained{
      search,        input.compilation.strategy(),        input.compilation.active(), input.placements.front().found,
      input.sources, input.compilation.costs() != nullptr};
  return node_choices(explained);
}

/// Adds what only a plan says of memory: what libraries keep of constants.
void add_libraries(const runtime::Plan& plan, int threads, ordered_json& memory) {
  const std::vector<plan::LibraryMemory> of_libraries = plan::library_memory(plan, threads);
  for (size_t s = 0; s < of_libraries.size(); ++s) {
    const plan::LibraryMemory& kept = of_libraries[s];
    const auto space = std::find_if(memory.begin(), memory.end(),
                                    [&](const ordered_json& one) { return one["space"] == plan.spaces[s].name; });
    if (space == memory.end() || kept.constants + kept.packed == 0) continue;
    (*space)["libraries"] = {{"constants", kept.constants}, {"packed", kept.packed}};
    if (kept.is_least) (*space)["libraries"]["is_least"] = true;
  }
}

/// Adds times and memory of the first placement: of its run where there was one.
void add_times(const ReportInput& input, ordered_json& json) {
  std::optional<runner::Trace> predicted;
  if (!input.findings.trace) {
    const plan::PlanTargets& targets = input.compilation.targets();
    std::optional<runtime::Plan> outline;
    if (input.plan == nullptr) {
      outline = plan::outline_plan(input.compilation.graph(), input.placements.front().found.placement, targets);
    }
    const runtime::Plan* plan = outline ? &*outline : input.plan;
    if (plan == nullptr) return;
    predicted = runner::predicted_trace(*plan);
  }
  const runner::Trace& trace = predicted ? *predicted : *input.findings.trace;
  json["timeline"] = timeline_data(trace);
  json["memory"] = memory_data(trace);
  if (input.plan != nullptr) {
    return add_libraries(*input.plan, input.compilation.targets().threads, json["memory"]);
  }
  for (ordered_json& space : json["memory"]) {  // an outline takes nothing
    space.erase("arena");
    space.erase("constants");
  }
}

/// Names of the backends that are models of chips, of all that take part.
std::vector<std::string> models_of(const compilation::Compilation& compilation) {
  std::vector<std::string> names;
  for (const place::ActiveBackend& active : compilation.active()) {
    if (is_simulated(*active.backend)) names.push_back(active.backend->name);
  }
  return names;
}

TimeEvidence evidence_of(const ReportInput& input) {
  const ShownPlacement& shown = input.placements.front();
  TimeEvidence evidence{.predicted = shown.report.predicted,
                        .has_estimates = input.compilation.costs() == nullptr,
                        .on_reference_kernels = shown.report.uncompiled.size(),
                        .timed = shown.report.timed,
                        .bench = input.findings.bench};
  if (input.findings.profile) evidence.profiled = input.findings.profile->seconds;
  evidence.models = report::share_of_models(shown.found.placement, shown.report.backends).models;
  const auto compare = input.summary.find("compare");
  if (compare == input.summary.end() || !compare->contains("strategies")) return evidence;
  for (const ordered_json& row : (*compare)["strategies"]) {
    if (!row.contains("measured")) {
      if (evidence.compared.empty()) break;  // the one that is shown was not run
      continue;
    }
    evidence.compared.emplace_back(row["strategy"].get<std::string>(), row["measured"]["median_s"].get<double>());
  }
  return evidence;
}

ordered_json about_data(const ReportInput& input) {
  const report::Report& report = input.placements.front().report;
  ordered_json about = {{"objective", report.objective->name},
                        {"unit", unit_name(report.value)},
                        {"sums_times", report.objective->sums_times()},
                        {"models", models_of(input.compilation)}};
  const std::string file = input.compilation.file().path.filename().string();
  about["file"] = file.empty() ? input.compilation.graph().name : file;
  // A makespan and the like is not the sum of its parts.
  const std::string text = report.objective->sums_times() ? believed_time(evidence_of(input)) : "";
  if (!text.empty()) about["verdict"] = text;
  return about;
}

}  // namespace

GivenPlaces given_places(const std::string& file, const ir::Placement& written) {
  GivenPlaces given{file.empty() ? "the model" : "the placement file " + file};
  for (const ir::Partition& partition : written.partitions) {
    given.nodes.insert(given.nodes.end(), partition.nodes.begin(), partition.nodes.end());
  }
  return given;
}

ordered_json report_data(const ReportInput& input) {
  const report::Report& report = input.placements.front().report;
  ordered_json json;
  json["summary"] = input.summary;
  json["about"] = about_data(input);
  json["graph"] = graph_data(input.compilation.graph(), input.sources);
  json["placements"] = ordered_json::array();
  for (const ShownPlacement& shown : input.placements) json["placements"].push_back(shown_placement(input, shown));
  json["choices"] = choices_data(input);
  json["search"] = search_data(input.findings.search, report);
  add_times(input, json);
  if (input.findings.bench) json["bench"] = runner::times_json(*input.findings.bench);
  if (input.findings.profile) {
    json["profile"] =
        profile_data(input.compilation.graph(), input.placements.front().found.placement, *input.findings.profile);
  }
  if (!input.findings.lost.empty()) json["lost"] = input.findings.lost;
  if (input.difference) json["difference"] = *input.difference;
  return json;
}

}  // namespace collage::page
