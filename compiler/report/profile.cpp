// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "compiler/report/json_text.h"
#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/runner/time_plan.h"

namespace collage::driver {
namespace {

constexpr int kProfiledRuns = 11;

/// One step, or one call of a host step.
struct TimedCall {
  std::string kind;
  std::string what;
  std::vector<double> seconds;

  double least() const { return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end()); }
};

std::string partition_name(const runtime::Plan& plan, int partition) {
  if (partition < 0) return "?";
  const runtime::PlanPartition& p = plan.partitions[static_cast<size_t>(partition)];
  return p.nodes.empty() ? p.name : fmt::format("{} (%{}{})", p.name, p.nodes[0], p.nodes.size() > 1 ? ", …" : "");
}

/// From or to another host.
bool is_message(const runtime::Plan& plan, const runtime::ConvertStep& step) {
  const auto is_elsewhere = [&](runtime::BufferId id) {
    const auto space = static_cast<size_t>(plan.buffers[static_cast<size_t>(id)].space);
    return runtime::is_other_host(plan.spaces[space].name);
  };
  return is_elsewhere(step.from) || is_elsewhere(step.to);
}

/// The calls of a step, or the step itself.
std::vector<TimedCall> calls_of(const runtime::Plan& plan, const runtime::Step& step) {
  std::vector<TimedCall> rows;
  if (const auto* host = std::get_if<runtime::HostStep>(&step)) {
    for (const runtime::HostCall& any : host->calls) {
      if (const auto* kernel = std::get_if<runtime::KernelCall>(&any)) {
        rows.push_back({"compiled", kernel->name.empty() ? kernel->symbol : kernel->name, {}});
      } else if (const auto* op = std::get_if<runtime::OpCall>(&any)) {
        runtime::BufferId to = op->outputs.empty() ? -1 : op->outputs[0];
        std::string name = to < 0 ? "" : "%" + plan.buffers[static_cast<size_t>(to)].name + " ";
        rows.push_back({"reference", name + op->op, {}});
      } else if (const auto* library = std::get_if<runtime::LibraryCall>(&any)) {
        rows.push_back({library->library, partition_name(plan, host->partition), {}});
      }
    }
  } else if (const auto* library = std::get_if<runtime::LibraryStep>(&step)) {
    rows.push_back({library->library, partition_name(plan, library->partition), {}});
  } else if (const auto* device = std::get_if<runtime::DeviceStep>(&step)) {
    rows.push_back(
        {plan.devices[static_cast<size_t>(device->device)].space, partition_name(plan, device->partition), {}});
  } else if (const auto* convert = std::get_if<runtime::ConvertStep>(&step);
             convert != nullptr && !is_message(plan, *convert)) {
    rows.push_back({"convert", "%" + plan.buffers[static_cast<size_t>(convert->to)].name, {}});
  }
  return rows;
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
  const auto& [plan, executor, runs] = profiled;
  std::vector<std::vector<TimedCall>> by_step;
  for (const runtime::Step& step : plan.steps) by_step.push_back(calls_of(plan, step));
  int run = -runner::kWarmUpRuns;
  executor.observe([&](const runtime::StepReport& report) {
    if (run < 0) return;
    std::vector<TimedCall>& step = by_step[report.step];
    for (size_t i = 0; i < step.size(); ++i) {
      bool by_call = report.call_seconds.size() == step.size();
      step[i].seconds.push_back(by_call ? report.call_seconds[i]
                                        : report.host_seconds / static_cast<double>(step.size()));
    }
  });
  for (; run < kProfiledRuns; ++run) {
    runtime::Result<std::vector<runtime::Tensor>> result = runs.run(inputs);
    if (result) continue;
    executor.observe({});
    return diags.error_at(support::Code::RunFailed, plan.model, "{}", result.message());
  }
  executor.observe({});
  Profile profile{.model = plan.model, .runs = kProfiledRuns, .rows = {}, .makespan = {}, .slots = {}};
  for (const std::vector<TimedCall>& step : by_step) {
    for (const TimedCall& call : step) profile.rows.push_back({call.kind, call.what, call.least()});
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

std::string print(const Profile& profile, size_t rows) {
  const std::vector<ProfileRow>& all = profile.rows;
  std::string text = fmt::format("{:<12}{:>10.4g} ms in {} kernels, copies and conversions\n", "profile",
                                 profile.seconds * 1e3, all.size());
  double shown = 0;
  for (size_t i = 0; i < std::min(rows, all.size()); ++i) {
    shown += all[i].seconds;
    text += fmt::format("{:<12}{:>10.4g} ms {:>5.1f} %  {:<10} {}\n", "", all[i].seconds * 1e3,
                        100 * all[i].seconds / profile.seconds, all[i].kind, all[i].what);
  }
  if (rows < all.size()) {
    text += fmt::format("{:<12}{:>10.4g} ms in {} others\n", "", (profile.seconds - shown) * 1e3, all.size() - rows);
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
    if (!row.host.empty()) one["host"] = row.host;
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

}  // namespace collage::driver
