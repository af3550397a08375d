// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/verify_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/measure/cache_state.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/time_candidate.h"
#include "runtime/core/host_space.h"
#include "runtime/runner/time_plan.h"

namespace collage::report {
namespace {

/// True for the end of a copy between two hosts, of a part, that waits for the other one.
bool is_received(const runtime::Plan& plan, const runtime::Step& step) {
  const auto* convert = std::get_if<runtime::ConvertStep>(&step);
  if (convert == nullptr) return false;
  const auto from = static_cast<size_t>(plan.buffers[static_cast<size_t>(convert->from)].space);
  return runtime::is_other_host(plan.spaces[from].name);
}

/// Where the time of a step counts: the row of its partition in the whole plan, or the one after those of partitions.
class StepRows {
 public:
  explicit StepRows(const runtime::Plan& whole) : conversions_(whole.partitions.size()) {
    for (size_t p = 0; p < conversions_; ++p) rows_.emplace(whole.partitions[p].name, p);
  }

  size_t conversions() const { return conversions_; }

  /// `seconds`: by step of a part.
  void add(const runtime::Plan& part, const std::vector<double>& seconds, std::vector<double>* by_row) const {
    for (size_t s = 0; s < part.steps.size(); ++s) {
      if (is_received(part, part.steps[s])) continue;
      const int partition = partition_of(part.steps[s]);
      const size_t row = partition < 0 ? conversions_ : rows_.at(part.partitions[static_cast<size_t>(partition)].name);
      (*by_row)[row] += seconds[s];
    }
  }

 private:
  size_t conversions_;
  std::map<std::string, size_t> rows_;
};

/// Seconds of each step in the last run of another host's part.
std::vector<double> step_seconds(const runtime::Executor& executor) {
  std::vector<double> seconds;
  for (const runtime::Slot& slot : executor.timeline().slots()) seconds.push_back((slot.finish - slot.start).seconds());
  return seconds;
}

std::string time_text(double seconds) {
  return human(runtime::Duration::seconds(seconds));
}

std::string error_text(double measured, double predicted) {
  if (predicted <= 0) return "-";
  double ratio = measured / predicted;
  return ratio < 10 ? fmt::format("{:+.1f} %", 100 * (ratio - 1)) : fmt::format("{:.0f} x", ratio);
}

/// Measures partitions alone, equal ones once.
class LonePartitions {
 public:
  explicit LonePartitions(const LoadedPlan& loaded) : loaded_(loaded) {
    for (const ir::Partition& partition : loaded.placement.partitions) by_name_[partition.name] = &partition;
  }

  /// Returns nullopt for simulated partitions and those that do not run alone.
  std::optional<double> seconds(size_t index) {
    const std::string& name = loaded_.built.plan.partitions[index].name;
    const auto partition = by_name_.find(name);
    if (partition == by_name_.end() || !runtime::is_host_space(partition->second->instance)) {
      return std::nullopt;
    }
    const auto [known, is_new] =
        measured_.emplace(measure::with_cache_state(measure::candidate_text(loaded_.graph, *partition->second), swept_,
                                                    loaded_.graph, *partition->second),
                          std::nullopt);
    if (!is_new) return known->second;
    measure::TimingOptions options;
    options.threads = loaded_.targets.threads;
    options.sweep_memory = &memory_;
    const measure::Measurement measurement = measure::time_candidate(known->first, loaded_.targets, options);
    if (!measurement.failed()) known->second = measurement.cost.seconds();
    return known->second;
  }

 private:
  const LoadedPlan& loaded_;
  const int swept_ = measure::swept_mebibytes(loaded_.graph);
  measure::SweepMemory memory_;
  std::map<std::string, const ir::Partition*> by_name_;
  std::map<std::string, std::optional<double>> measured_;
};

}  // namespace

double VerifyReport::additive_error() const {
  return end_to_end.alone > 0 ? sum.alone / end_to_end.alone - 1 : 0;
}

runtime::Result<VerifyReport> verify_costs(const LoadedPlan& loaded, const std::vector<runtime::Tensor>& inputs,
                                           int runs) {
  const runtime::Plan& plan = loaded.built.plan;
  const StepRows rows(plan);
  const size_t conversions = rows.conversions();
  std::vector<std::vector<double>> times(conversions + 1);
  std::vector<double> latencies;
  for (int r = -runner::kWarmUpRuns; r < runs; ++r) {
    runtime::Result<runner::TimedRun> run = runner::time_run(loaded.executor, inputs);
    if (!run) return run.status();
    if (r < 0) continue;
    std::vector<double> of_run(times.size(), 0);
    rows.add(loaded.parts.empty() ? plan : loaded.parts.front().built.plan, run->steps, &of_run);
    for (size_t host = 1; host < loaded.parts.size(); ++host) {
      rows.add(loaded.parts[host].built.plan, step_seconds(loaded.parts[host].executor), &of_run);
    }
    for (size_t i = 0; i < of_run.size(); ++i) times[i].push_back(of_run[i]);
    latencies.push_back(run->latency);
  }
  VerifyReport report;
  LonePartitions lone(loaded);
  for (size_t p = 0; p < conversions; ++p) {
    const runtime::PlanPartition& partition = plan.partitions[p];
    const double in_run = runner::median(times[p]);
    report.rows.push_back(
        {partition.name, partition.backend, partition.cost.seconds(), lone.seconds(p).value_or(in_run), in_run});
  }
  const double moving = runner::median(times[conversions]);
  VerifyRow moved{"conversions", "", 0, moving, moving};
  bool has_conversions = false;
  for (const runtime::Step& step : plan.steps) {
    if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
      moved.predicted += convert->cost.seconds();
      has_conversions = true;
    }
  }
  if (has_conversions) report.rows.push_back(moved);
  report.sum = {"sum", "", 0, 0, 0};
  for (const VerifyRow& row : report.rows) {
    report.sum.predicted += row.predicted;
    report.sum.alone += row.alone;
    report.sum.in_run += row.in_run;
  }
  const double whole = runner::median(latencies);
  report.end_to_end = {"end to end", "", plan.predicted.seconds(), whole, whole};
  return report;
}

std::string print(const VerifyReport& report) {
  size_t width = 12;
  for (const VerifyRow& row : report.rows) width = std::max(width, row.partition.size() + 2);
  std::string text = fmt::format("{:<12}{:<{}}{:<10}{:>12}{:>12}{:>11}{:>12}\n", "verify", "partition", width,
                                 "backend", "predicted", "alone", "error", "in the run");
  auto add = [&](const VerifyRow& row, const std::string& in_run) {
    std::string line =
        fmt::format("{:<12}{:<{}}{:<10}{:>12}{:>12}{:>11}{:>12}", "", row.partition, width, row.backend,
                    time_text(row.predicted), time_text(row.alone), error_text(row.alone, row.predicted), in_run);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  for (const VerifyRow& row : report.rows) add(row, time_text(row.in_run));
  add(report.sum, time_text(report.sum.in_run));
  add(report.end_to_end, "");
  return text +
         fmt::format("{:<12}additive error {:+.1f} %: measured alone the parts add up to {}, the whole takes {}\n", "",
                     100 * report.additive_error(), time_text(report.sum.alone), time_text(report.end_to_end.alone));
}

}  // namespace collage::report
