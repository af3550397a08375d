// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/report/verify_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/execution/time_plan.h"
#include "compiler/measure/cache_state.h"
#include "compiler/measure/candidate_text.h"
#include "compiler/measure/time_candidate.h"
#include "runtime/core/host_space.h"

namespace collage::driver {
namespace {

/// The step's partition, or -1 for a conversion.
int partition_of(const runtime::Step& step) {
  return std::visit(
      [](const auto& any) {
        if constexpr (requires { any.partition; }) {
          return any.partition;
        } else {
          return -1;
        }
      },
      step);
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
  const size_t conversions = plan.partitions.size();  // the row after those of the partitions
  std::vector<std::vector<double>> times(conversions + 1);
  std::vector<double> latencies;
  for (int r = -execution::kWarmUpRuns; r < runs; ++r) {
    runtime::Result<execution::TimedRun> run = execution::time_run(loaded.executor, inputs);
    if (!run) return run.status();
    if (r < 0) continue;
    std::vector<double> of_run(times.size(), 0);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      int partition = partition_of(plan.steps[s]);
      of_run[partition < 0 ? conversions : static_cast<size_t>(partition)] += run->steps[s];
    }
    for (size_t i = 0; i < of_run.size(); ++i) times[i].push_back(of_run[i]);
    latencies.push_back(run->latency);
  }
  VerifyReport report;
  LonePartitions lone(loaded);
  for (size_t p = 0; p < conversions; ++p) {
    const runtime::PlanPartition& partition = plan.partitions[p];
    const double in_run = execution::median(times[p]);
    report.rows.push_back(
        {partition.name, partition.backend, partition.cost.seconds(), lone.seconds(p).value_or(in_run), in_run});
  }
  const double moving = execution::median(times[conversions]);
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
  const double whole = execution::median(latencies);
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

}  // namespace collage::driver
