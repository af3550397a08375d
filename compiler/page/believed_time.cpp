// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/believed_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "compiler/report/verdict.h"

namespace collage::page {
namespace {

using runtime::Duration;

/// Runs were disturbed where half of them take so many times what the fastest takes.
constexpr double kDisturbed = 1.3;

std::string time_text(double seconds) {
  return human(Duration::seconds(seconds));
}

bool agree(double a, double b) {
  return std::max(a, b) <= report::kAgrees * std::min(a, b);
}

/// Why `measured` is not what was predicted.
std::string reason(const TimeEvidence& evidence, double measured) {
  report::PlanTimes times{.measured = measured,
                          .predicted = evidence.predicted.seconds(),
                          .has_estimates = evidence.has_estimates,
                          .on_reference_kernels = evidence.on_reference_kernels};
  if (evidence.timed) times.timed = evidence.timed->seconds();
  return report::reason_of(times);
}

std::string of_models(const TimeEvidence& evidence) {
  const bool is_one = evidence.models.size() == 1;
  std::string text =
      fmt::format("Believe the prediction as far as its rule files: {} {}", fmt::join(evidence.models, ", "),
                  is_one ? "is a model of a chip" : "are models of chips");
  if (!evidence.bench) return text + ", and nothing measured it.";
  return text + fmt::format("; reference kernels took {} place in the bench, whose {} are no latency.",
                            is_one ? "its" : "their", time_text(evidence.bench->median()));
}

std::string of_compared(const TimeEvidence& evidence) {
  const auto& [shown, median] = evidence.compared.front();
  const auto fastest = std::min_element(evidence.compared.begin(), evidence.compared.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  if (median <= report::kAgrees * fastest->second) {
    return fmt::format("Prediction and measurement agree: {} took {}, and no strategy was clearly faster.", shown,
                       time_text(median));
  }
  return fmt::format(
      "Believe the measured times: {} took {}, {} {}, {:.1f} times as long; {} is the best by predicted costs, "
      "which are sums over parts, and whole plans were run.",
      fastest->first, time_text(fastest->second), shown, time_text(median), median / fastest->second, shown);
}

/// `by`: what timed the plan.
std::string of_run(const TimeEvidence& evidence, std::string_view by, double seconds) {
  const double predicted = evidence.predicted.seconds();
  if (agree(seconds, predicted)) {
    return fmt::format("Prediction and {} agree within {:.0f} %.", by,
                       std::ceil(100 * std::abs(seconds / predicted - 1)));
  }
  return fmt::format("Believe the {}, {}, {:.2g} times the {} predicted: {}.", by, time_text(seconds),
                     seconds / predicted, human(evidence.predicted), reason(evidence, seconds));
}

std::string of_bench(const TimeEvidence& evidence) {
  const double median = evidence.bench->median(), least = evidence.bench->least();
  if (median > kDisturbed * least) {
    return fmt::format(
        "Believe the fastest run, {}: half of the runs took {} or more, as they do where other programs use "
        "the processors.",
        time_text(least), time_text(median));
  }
  return of_run(evidence, "bench", median);
}

}  // namespace

std::string believed_time(const TimeEvidence& evidence) {
  if (!evidence.models.empty()) return of_models(evidence);
  if (evidence.compared.size() > 1) return of_compared(evidence);
  if (evidence.bench && evidence.predicted > Duration()) return of_bench(evidence);
  if (evidence.profiled && evidence.predicted > Duration()) return of_run(evidence, "profile", *evidence.profiled);
  if (evidence.timed && !agree(evidence.timed->seconds(), evidence.predicted.seconds())) {
    return fmt::format(
        "Believe {}, the time of the plan beside its rivals: the prediction, {}, adds up costs of parts.",
        human(*evidence.timed), human(evidence.predicted));
  }
  if (evidence.has_estimates) {
    return "Nothing was measured: the prediction is by formulas of rule files, and `collagec bench` measures.";
  }
  return "";
}

}  // namespace collage::page
