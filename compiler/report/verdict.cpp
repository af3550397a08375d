// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/verdict.h"

#include <fmt/format.h>

#include "runtime/core/duration.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

std::string time_text(double seconds) {
  return human(runtime::Duration::seconds(seconds));
}

}  // namespace

std::string reason_of(const PlanTimes& times) {
  const bool is_less = times.measured < times.predicted;
  if (times.is_disturbed && !is_less) return "the machine was busy; on a quiet one it takes less";
  if (times.has_estimates) return "costs are estimates of rule files; `--costs=measured` measures them";
  if (times.timed && times.measured <= kMostRatio * *times.timed && *times.timed <= kMostRatio * times.measured) {
    return fmt::format("its parts take {} alone than one after the other; as a whole it was timed before, at {}",
                       is_less ? "more" : "less", time_text(*times.timed));
  }
  if (times.on_reference_kernels > 0 && !is_less)
    return runtime::counted(times.on_reference_kernels, "operator") + " run on reference kernels";
  return "`collagec verify-costs` compares each partition";
}

std::string verdict_of(const PlanTimes& times) {
  if (times.predicted <= 0 || times.measured <= kMostRatio * times.predicted) return "";
  return fmt::format("{:.1f} times the {} predicted: {}", times.measured / times.predicted, time_text(times.predicted),
                     reason_of(times));
}

}  // namespace collage::report
