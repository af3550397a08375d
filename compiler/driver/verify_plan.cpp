// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/verify_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/time_plan.h"

namespace collage::driver {
namespace {

constexpr int kWarmUp = 2;

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

}  // namespace

double VerifyReport::additive_error() const {
  return end_to_end.measured > 0 ? sum.measured / end_to_end.measured - 1 : 0;
}

runtime::Result<VerifyReport> verify_plan(const plan::BuiltPlan& built, runtime::Executor& executor,
                                          const std::vector<runtime::Tensor>& inputs, int runs) {
  const runtime::Plan& plan = built.plan;
  const std::vector<bool> simulated = simulated_steps(plan);
  const size_t conversions = plan.partitions.size();  // the row behind those of the partitions
  std::vector<std::vector<double>> times(conversions + 1);
  std::vector<double> latencies;
  for (int r = -kWarmUp; r < runs; ++r) {
    runtime::Result<TimedRun> run = time_run(executor, simulated, inputs);
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
  for (size_t p = 0; p < conversions; ++p) {
    const runtime::PlanPartition& partition = plan.partitions[p];
    report.rows.push_back({partition.name, partition.backend, partition.cost.seconds(), median(times[p])});
  }
  VerifyRow moved{"conversions", "", 0, median(times[conversions])};
  bool has_conversions = false;
  for (const runtime::Step& step : plan.steps) {
    if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
      moved.predicted += convert->cost.seconds();
      has_conversions = true;
    }
  }
  if (has_conversions) report.rows.push_back(moved);
  report.sum = {"sum", "", 0, 0};
  for (const VerifyRow& row : report.rows) {
    report.sum.predicted += row.predicted;
    report.sum.measured += row.measured;
  }
  report.end_to_end = {"end to end", "", plan.predicted.seconds(), median(latencies)};
  return report;
}

std::string print(const VerifyReport& report) {
  size_t width = 12;
  for (const VerifyRow& row : report.rows) width = std::max(width, row.partition.size() + 2);
  std::string text = fmt::format("{:<12}{:<{}}{:<10}{:>12}{:>12}{:>11}\n", "verify", "partition", width, "backend",
                                 "predicted", "measured", "error");
  auto add = [&](const VerifyRow& row) {
    text += fmt::format("{:<12}{:<{}}{:<10}{:>12}{:>12}{:>11}\n", "", row.partition, width, row.backend,
                        time_text(row.predicted), time_text(row.measured), error_text(row.measured, row.predicted));
  };
  for (const VerifyRow& row : report.rows) add(row);
  add(report.sum);
  add(report.end_to_end);
  return text + fmt::format("{:<12}additive error {:+.1f} %: the sum of the measured parts against end to end\n", "",
                            100 * report.additive_error());
}

}  // namespace collage::driver
