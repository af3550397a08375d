// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/known_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/text.h"
#include "runtime/runner/compare_tensors.h"

namespace collage::runner {

using support::Code;

std::optional<KnownRunsReport> check_known_runs(const runtime::Plan& plan, runtime::Executor& executor,
                                                double tolerance, support::Diagnostics& diags) {
  if (plan.known_runs.empty()) {
    diags.error_at(Code::BadOption, "--check",
                   "the package has no results to compare with: `collagec check MODEL -o FILE` "
                   "puts those of a checked run into it");
    return std::nullopt;
  }
  KnownRunsReport report;
  bool good = true;
  for (const runtime::KnownRun& known : plan.known_runs) {
    const auto outputs = executor.run(known.inputs);
    if (!outputs) {
      diags.error_at(Code::RunFailed, plan.model, "{}", outputs.message());
      return std::nullopt;
    }
    ++report.runs;
    for (size_t i = 0; i < outputs->size(); ++i) {
      const TensorDifference found = compare((*outputs)[i], known.outputs[i], tolerance);
      const double relative = found.max_difference / (found.max_magnitude > 0 ? found.max_magnitude : 1);
      report.is_identical = report.is_identical && runtime::identical((*outputs)[i], known.outputs[i]);
      report.difference = std::max(report.difference, relative);
      if (found.passed) continue;
      good = diags.error_at(Code::CheckFailed, "--check " + plan.outputs[i].name,
                            "differs from the checked run by {:.2e} of the largest value, more than {:.2e}", relative,
                            tolerance);
    }
  }
  return good ? std::optional(report) : std::nullopt;
}

std::string print(const KnownRunsReport& report) {
  return fmt::format(
      "checked     {}: {}\n", runtime::counted(report.runs, "known run"),
      report.is_identical ? "every bit is the same" : fmt::format("max|diff| / max|y| = {:.2e}", report.difference));
}

nlohmann::ordered_json known_runs_json(const KnownRunsReport& report) {
  return {{"runs", report.runs}, {"identical", report.is_identical}, {"difference", report.difference}};
}

}  // namespace collage::runner
