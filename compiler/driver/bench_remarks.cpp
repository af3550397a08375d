// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/bench_remarks.h"

#include <algorithm>

#include "compiler/report/figures.h"
#include "compiler/report/simulated.h"
#include "compiler/report/summary_line.h"
#include "compiler/report/verdict.h"

namespace collage::driver {
namespace {

/// That models of chips have a part in the time, or "".
std::string no_latency(const Command& command, const ir::Placement& placement) {
  const compilation::Compilation& compilation = command.compilation;
  std::vector<std::string> shown;
  const auto figures = report::figures_by_backend(compilation.graph(), placement);
  for (const auto& [backend, of_backend] : figures) shown.push_back(backend);
  const std::vector<std::string> models = report::models_among(compilation.activations(), shown);
  size_t ops = 0;
  for (const std::string& model : models) ops += figures.at(model).ops;
  return report::no_latency_text(
      models, ops, report::without_models(compilation.activations(), compilation.settings().allows_simulated));
}

}  // namespace

std::string remarks_on_bench(const Command& command, const ir::Placement& placement, const report::Report& report,
                             const runner::BenchReport& bench, const std::string& disturbance) {
  const size_t width = command.output.width;
  if (const std::string models = no_latency(command, placement); !models.empty())
    return report::summary_line("", models, width);
  const std::string disturbed = disturbance.empty() ? "" : report::summary_line("", "disturbed: " + disturbance, width);
  const bool is_one_host = command.compilation.targets().hosts.size() <= 1;
  if (report.objective != place::default_objective() || !is_one_host) return disturbed;
  report::PlanTimes times{.measured = bench.median(), .predicted = report.predicted.seconds()};
  if (report.timed) times.timed = report.timed->seconds();
  times.is_disturbed = !disturbance.empty();
  times.has_estimates = command.compilation.costs() == nullptr;
  times.on_reference_kernels = report.uncompiled.size();
  const std::string verdict = report::verdict_of(times);
  return verdict.empty() ? disturbed : disturbed + report::summary_line("verdict", verdict, width);
}

}  // namespace collage::driver
