// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/report/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "compiler/execution/time_plan.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::driver {
namespace {

constexpr int kProfiledRuns = 11;

/// One step, or one call of a host step.
struct Row {
  std::string kind;
  std::string what;
  std::vector<double> seconds;

  /// Other work on the machine only ever adds.
  double least() const { return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end()); }
};

std::string partition_name(const runtime::Plan& plan, int partition) {
  if (partition < 0) return "?";
  const runtime::PlanPartition& p = plan.partitions[static_cast<size_t>(partition)];
  return p.nodes.empty() ? p.name : fmt::format("{} (%{}{})", p.name, p.nodes[0], p.nodes.size() > 1 ? ", …" : "");
}

/// Rows of a step: its calls, or the step itself.
std::vector<Row> rows_of(const runtime::Plan& plan, const runtime::Step& step) {
  std::vector<Row> rows;
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
  } else if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
    rows.push_back({"convert", "%" + plan.buffers[static_cast<size_t>(convert->to)].name, {}});
  }
  return rows;
}

/// `0.5 us to 3.2 us  npu[0] in, host - npu[0]  convert %x.npu0`: copies beside compute.
std::string print_timeline(const runtime::Plan& plan, const runtime::Timeline& timeline, size_t rows) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return timeline.slots()[a].start < timeline.slots()[b].start; });
  std::string text = fmt::format("{:<12}{:>12} with steps side by side\n", "timeline", human(timeline.makespan()));
  for (size_t i = 0; i < std::min(rows, order.size()); ++i) {
    const size_t step = order[i];
    std::vector<std::string> held;
    for (int resource : tasks[step].resources) held.push_back(machine.names()[static_cast<size_t>(resource)]);
    const std::vector<Row> what = rows_of(plan, plan.steps[step]);
    text += fmt::format("{:<12}{:>12} to {:<12} {:<28} {}\n", "", human(timeline.slots()[step].start),
                        human(timeline.slots()[step].finish), fmt::format("{}", fmt::join(held, ", ")),
                        what.empty() ? "" : what.front().what);
  }
  return text;
}

}  // namespace

std::optional<std::string> profile_model(const runtime::Plan& plan, const std::vector<runtime::Tensor>& inputs,
                                         size_t rows, runtime::Executor& executor, support::Diagnostics& diags) {
  std::vector<std::vector<Row>> by_step;
  for (const runtime::Step& step : plan.steps) by_step.push_back(rows_of(plan, step));
  int run = -execution::kWarmUpRuns;
  executor.observe([&](const runtime::StepReport& report) {
    if (run < 0) return;
    std::vector<Row>& step = by_step[report.step];
    for (size_t i = 0; i < step.size(); ++i) {
      bool by_call = report.call_seconds.size() == step.size();
      step[i].seconds.push_back(by_call ? report.call_seconds[i]
                                        : report.host_seconds / static_cast<double>(step.size()));
    }
  });
  for (; run < kProfiledRuns; ++run) {
    runtime::Result<std::vector<runtime::Tensor>> result = executor.run(inputs);
    if (result) continue;
    executor.observe({});
    return diags.error_at(support::Code::RunFailed, plan.model, "{}", result.message());
  }
  executor.observe({});
  std::vector<Row> all;
  double total = 0;
  for (std::vector<Row>& step : by_step) std::move(step.begin(), step.end(), std::back_inserter(all));
  for (const Row& row : all) total += row.least();
  std::stable_sort(all.begin(), all.end(), [](const Row& a, const Row& b) { return a.least() > b.least(); });
  std::string text =
      fmt::format("{:<12}{:>10.4g} ms in {} kernels, copies and conversions\n", "profile", total * 1e3, all.size());
  double shown = 0;
  for (size_t i = 0; i < std::min(rows, all.size()); ++i) {
    shown += all[i].least();
    text += fmt::format("{:<12}{:>10.4g} ms {:>5.1f} %  {:<10} {}\n", "", all[i].least() * 1e3,
                        100 * all[i].least() / total, all[i].kind, all[i].what);
  }
  if (rows < all.size()) {
    text += fmt::format("{:<12}{:>10.4g} ms in {} others\n", "", (total - shown) * 1e3, all.size() - rows);
  }
  if (plan.is_concurrent) text += print_timeline(plan, executor.timeline(), rows);
  return text;
}

}  // namespace collage::driver
