// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "runtime/core/duration.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/runner/run_json.h"
#include "runtime/runner/time_plan.h"

namespace collage::runner {
namespace {

using runtime::Tensor;

/// Time per input of a stream of steps of these lengths.
runtime::Duration stream_period(const runtime::Plan& plan, const std::vector<runtime::Duration>& lengths) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].length = lengths[i];
  return runtime::stream_period(tasks);
}

/// The least time of each step, and the makespan of each run.
struct StepTimes {
  std::vector<runtime::Duration> least;
  std::vector<double> makespans;

  void add(const runtime::Timeline& timeline) {
    makespans.push_back(timeline.makespan().seconds());
    for (size_t s = 0; s < least.size(); ++s) {
      const runtime::Slot& slot = timeline.slots()[s];
      least[s] = std::min(least[s], slot.finish - slot.start);
    }
  }
};

}  // namespace

double BenchReport::median() const {
  return runner::median(seconds);
}

double BenchReport::least() const {
  return *std::min_element(seconds.begin(), seconds.end());
}

std::optional<BenchReport> bench_model(const runtime::Plan& plan, const std::vector<Tensor>& inputs, int runs,
                                       runtime::Executor& executor, const WorkListener& listener,
                                       support::Diagnostics& diags) {
  using Clock = std::chrono::steady_clock;
  BenchReport report;
  StepTimes steps{std::vector<runtime::Duration>(plan.steps.size(), runtime::Duration::max()), {}};
  runtime::Duration device_start;
  // Another plan may have taken over from one that lost a device. What one host of several does is not the whole.
  const bool is_whole = plan.part.hosts == 1;
  const auto has_steps = [&] { return plan.is_concurrent && is_whole && executor.losses().empty(); };
  const WorkScope work(listener, Work::Running);
  for (int i = -kWarmUpRuns; i < runs; ++i) {
    work.report(static_cast<size_t>(std::max(i, 0)), static_cast<size_t>(runs));
    if (i == 0) device_start = executor.device_time();
    Clock::time_point start = Clock::now();
    runtime::Result<std::vector<Tensor>> result = executor.run(inputs);
    if (!result) return diags.error_at(support::Code::RunFailed, plan.model, "{}", result.message());
    if (i < 0) continue;
    report.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    if (has_steps()) steps.add(executor.timeline());
  }
  if (is_whole) report.simulated = runtime::Duration::picoseconds((executor.device_time() - device_start).ps() / runs);
  if (has_steps()) {
    report.overlap = OverlapTimes{runner::median(steps.makespans), stream_period(plan, steps.least).seconds()};
  }
  return report;
}

std::string print(const BenchReport& report) {
  std::string text =
      fmt::format("{:<12}median {}, least {} ({} runs)\n", "bench", human(runtime::Duration::seconds(report.median())),
                  human(runtime::Duration::seconds(report.least())), report.seconds.size());
  if (report.simulated.ps() > 0) {
    text += fmt::format("{:<12}{} a run on simulated devices and links\n", "", human(report.simulated));
  }
  if (!report.overlap) return text;
  const double period = report.overlap->period;
  return text + fmt::format("{:<12}{} a run with steps side by side; in a stream {} an input, {:.4g} inputs a second\n",
                            "", human(runtime::Duration::seconds(report.overlap->makespan)),
                            human(runtime::Duration::seconds(period)), period > 0 ? 1 / period : 0.0);
}

std::string to_json(const BenchReport& report, const std::string& model, const std::string& strategy, int threads) {
  nlohmann::ordered_json json = {{"model", model}};
  if (!strategy.empty()) json["strategy"] = strategy;
  json["threads"] = threads;
  json.update(times_json(report));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json times_json(const BenchReport& report) {
  nlohmann::ordered_json json = {{"median_s", report.median()},
                                 {"least_s", report.least()},
                                 {"simulated_s", report.simulated.seconds()},
                                 {"runs_s", report.seconds}};
  if (report.overlap) json["makespan_s"] = report.overlap->makespan;
  if (report.overlap) json["stream_s"] = report.overlap->period;
  return json;
}

}  // namespace collage::runner
