// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/json_text.h"
#include "compiler/report/timed_calls.h"
#include "compiler/report/work_shares.h"
#include "runtime/core/text.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/runner/time_plan.h"

namespace collage::report {
namespace {

using runtime::Duration;

constexpr int kProfiledRuns = 11;

/// The row of a call, without its time.
ProfileRow row_of(const runtime::Plan& plan, const TimedCall& call) {
  ProfileRow row{.kind = call.kind, .what = call.what, .value = call.value, .is_simulated = call.is_simulated};
  if (call.partition < 0) return row;
  const runtime::PlanPartition& partition = plan.partitions[static_cast<size_t>(call.partition)];
  row.partition = partition.name;
  row.backend = partition.backend;
  return row;
}

ProfileRow timed_row(const runtime::Plan& plan, const TimedCall& call) {
  ProfileRow row = row_of(plan, call);
  row.seconds = call.least();
  return row;
}

/// The nodes of the partition that the call runs; empty: they are not known, or there is one.
std::vector<ir::NodeId> divided_nodes(const runtime::Plan& plan, const TimedCall& call, const ir::Graph* graph) {
  std::vector<ir::NodeId> nodes;
  if (graph == nullptr || !call.is_whole || call.partition < 0) return nodes;
  for (const std::string& name : plan.partitions[static_cast<size_t>(call.partition)].nodes) {
    nodes.push_back(graph->find_node(name));
    if (!nodes.back().is_valid()) return {};
  }
  return nodes.size() > 1 ? nodes : std::vector<ir::NodeId>();
}

/// Rows of one call: of its parts, of its nodes, or itself.
void add_rows(const runtime::Plan& plan, const TimedCall& call, const ir::Graph* graph, std::vector<ProfileRow>& rows) {
  if (!call.parts.empty() && !call.parts.front().seconds.empty()) {
    for (const TimedCall& part : call.parts) {
      if (!part.is_at_load) rows.push_back(timed_row(plan, part));
    }
    return;
  }
  const std::vector<ir::NodeId> nodes = divided_nodes(plan, call, graph);
  if (nodes.empty()) return rows.push_back(timed_row(plan, call));
  const std::vector<double> shares = work_shares(*graph, nodes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (shares[i] == 0) continue;
    ProfileRow row = row_of(plan, call);
    row.value = graph->node_name(nodes[i]);
    row.what = fmt::format("{} %{} {}", row.partition, row.value, graph->node(nodes[i]).op->name);
    row.seconds = call.least() * shares[i];
    row.is_about = true;
    rows.push_back(std::move(row));
  }
}

/// The steps of the last run, by their start.
std::vector<ProfileSlot> slots_of(const runtime::Plan& plan, const runtime::Timeline& timeline) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return timeline.slots()[a].start < timeline.slots()[b].start; });
  std::vector<ProfileSlot> slots;
  for (size_t step : order) {
    ProfileSlot slot{timeline.slots()[step].start, timeline.slots()[step].finish, {}, ""};
    for (int resource : tasks[step].resources) slot.held.push_back(machine.names()[static_cast<size_t>(resource)]);
    const std::vector<TimedCall> calls = calls_of(plan, plan.steps[step]);
    if (!calls.empty()) slot.what = calls.front().what;
    slots.push_back(std::move(slot));
  }
  return slots;
}

/// `0.5 us to 3.2 us  npu[0] in, host - npu[0]  convert %x.npu0`: copies beside compute.
std::string print_timeline(const Profile& profile, size_t rows) {
  std::string text = fmt::format("{:<12}{:>12} with steps side by side\n", "timeline", human(profile.makespan));
  for (size_t i = 0; i < std::min(rows, profile.slots.size()); ++i) {
    const ProfileSlot& slot = profile.slots[i];
    text += fmt::format("{:<12}{:>12} to {:<12} {:<28} {}\n", "", human(slot.start), human(slot.finish),
                        fmt::format("{}", fmt::join(slot.held, ", ")), slot.what);
  }
  return text;
}

}  // namespace

std::optional<Profile> profile_model(const ProfiledPlan& profiled, const std::vector<runtime::Tensor>& inputs,
                                     support::Diagnostics& diags) {
  const auto& [plan, executor, runs, graph] = profiled;
  Profile profile{.model = plan.model, .runs = kProfiledRuns, .rows = {}, .makespan = {}, .slots = {}};
  {
    TimedCalls timed(plan, executor);
    for (int run = -runner::kWarmUpRuns; run < kProfiledRuns; ++run) {
      runtime::Result<std::vector<runtime::Tensor>> result = runs.run(inputs);
      if (!result) return diags.error_at(support::Code::RunFailed, plan.model, "{}", result.message());
      if (run >= 0) timed.keep_run();
    }
    for (const std::vector<TimedCall>& step : timed.steps()) {
      for (const TimedCall& call : step) add_rows(plan, call, graph, profile.rows);
    }
  }
  for (const ProfileRow& row : profile.rows) profile.seconds += row.seconds;
  std::stable_sort(profile.rows.begin(), profile.rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
  if (plan.is_concurrent && plan.part.hosts == 1) {
    profile.makespan = executor.timeline().makespan();
    profile.slots = slots_of(plan, executor.timeline());
  }
  return profile;
}

std::vector<std::string> simulated_backends(const Profile& profile) {
  std::vector<std::string> backends;
  for (const ProfileRow& row : profile.rows) {
    const bool is_new = std::find(backends.begin(), backends.end(), row.backend) == backends.end();
    if (row.is_simulated && !row.backend.empty() && is_new) backends.push_back(row.backend);
  }
  return backends;
}

std::string print(const Profile& profile, size_t rows) {
  const std::vector<ProfileRow>& all = profile.rows;
  const auto time = [](double seconds, bool is_about = false) {
    return (is_about ? "about " : "") + human(Duration::seconds(seconds));
  };
  std::string text =
      fmt::format("{:<12}{:>14} in {} kernels, copies and conversions\n", "profile", time(profile.seconds), all.size());
  double shown = 0;
  for (size_t i = 0; i < std::min(rows, all.size()); ++i) {
    shown += all[i].seconds;
    text += fmt::format("{:<10}{:>16} {:>5.1f} %  {:<10} {}\n", "", time(all[i].seconds, all[i].is_about),
                        profile.seconds > 0 ? 100 * all[i].seconds / profile.seconds : 0.0, all[i].kind, all[i].what);
  }
  if (rows < all.size()) {
    text += fmt::format("{:<12}{:>14} in {}\n", "", time(std::max(profile.seconds - shown, 0.0)),
                        runtime::counted(all.size() - rows, "other"));
  }
  if (!profile.slots.empty()) text += print_timeline(profile, rows);
  return text;
}

std::string to_json(const Profile& profile) {
  using nlohmann::ordered_json;
  ordered_json json = {{"model", profile.model}, {"runs", profile.runs}, {"seconds", profile.seconds}};
  json["rows"] = ordered_json::array();
  for (const ProfileRow& row : profile.rows) {
    ordered_json one = {{"kind", row.kind}, {"what", row.what}, {"seconds", row.seconds}};
    const std::pair<const char*, const std::string&> texts[] = {
        {"host", row.host}, {"partition", row.partition}, {"value", row.value}};
    for (const auto& [name, held] : texts) {
      if (!held.empty()) one[name] = held;
    }
    if (row.is_about) one["about"] = true;
    if (row.is_simulated) one["simulated"] = true;
    json["rows"].push_back(std::move(one));
  }
  if (profile.slots.empty()) return printed(json);
  json["makespan_s"] = profile.makespan.seconds();
  json["timeline"] = ordered_json::array();
  for (const ProfileSlot& slot : profile.slots) {
    json["timeline"].push_back({{"start_s", slot.start.seconds()},
                                {"finish_s", slot.finish.seconds()},
                                {"on", slot.held},
                                {"what", slot.what}});
  }
  return printed(json);
}

}  // namespace collage::report
