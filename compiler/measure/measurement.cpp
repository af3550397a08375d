// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/measurement.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "compiler/measure/printable.h"

namespace collage::measure {
namespace {

constexpr int64_t kNanosecond = 1000;  ///< in picoseconds

/// Returns the largest of 1, 2, 5, 10, 20, … nanoseconds that is at most `most`, or 1.
int64_t step_below(int64_t most) {
  int64_t step = kNanosecond;
  for (int64_t decade = kNanosecond; decade <= most; decade *= 10) {
    for (int64_t factor : {1, 2, 5}) {
      if (factor * decade <= most) step = factor * decade;
    }
  }
  return step;
}

}  // namespace

Measurement failed_measurement(std::string why) {
  Measurement measurement;
  measurement.failure = std::move(why);
  measurement.lasting = !is_of_the_machine(measurement.failure);
  return measurement;
}

Measurement passing_failure(std::string why) {
  Measurement measurement = failed_measurement(std::move(why));
  measurement.lasting = false;
  return measurement;
}

bool is_of_the_machine(std::string_view reason) {
  constexpr std::array<std::string_view, 7> kSigns = {
      "no memory", "bytes of memory",        "out of memory",       "out_of_memory",
      "bad_alloc", "Cannot allocate memory", "Resource temporarily"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return reason.find(sign) != std::string_view::npos; });
}

std::string problem_of(const Measurement& measurement) {
  const auto in_range = [](Duration duration, Duration most = kMostCost) {
    return duration >= Duration() && duration <= most;
  };
  if (measurement.runs < 0) return "negative number of runs " + std::to_string(measurement.runs);
  if (!in_range(measurement.cost)) return "impossible cost " + runtime::to_string(measurement.cost);
  if (!in_range(measurement.spread)) return "impossible spread " + runtime::to_string(measurement.spread);
  if (!in_range(measurement.timeout, kMostTimeout))
    return "impossible timeout " + runtime::to_string(measurement.timeout);
  if (measurement.date < 0 || measurement.date > kLastDate)
    return "impossible date " + std::to_string(measurement.date);
  if (!measurement.failed() && measurement.cost == Duration()) return "a cost of 0";
  if (measurement.failed() && measurement.failure.empty()) return "neither runs nor a failure";
  return "";
}

Measurement after_repeat(const Measurement& kept, const Measurement& newer) {
  if (kept.failed() || kept.disturbance.empty() || newer.failed()) return kept;
  if (newer.disturbance.empty()) return newer;
  Measurement both = newer.cost < kept.cost ? newer : kept;
  both.repeated = true;
  both.date = std::max(kept.date, newer.date);
  return both;
}

Duration round_to_spread(Duration median, Duration spread) {
  constexpr int64_t kLeastSteps = 16;
  int64_t step = step_below(std::min(spread.ps(), median.ps() / kLeastSteps));
  int64_t rounded = (median.ps() + step / 2) / step * step;
  return Duration::picoseconds(std::max(rounded, step));
}

std::string to_line(const Measurement& measurement) {
  if (!measurement.failed()) {
    return "ok " + std::to_string(measurement.cost.ps()) + " " + std::to_string(measurement.spread.ps()) + " " +
           std::to_string(measurement.runs) + " " + std::to_string(measurement.compiled) + " " +
           measurement.disturbance;
  }
  std::string line = (measurement.lasting ? "no " : "later ") + measurement.failure;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::optional<Measurement> parse_line(std::string_view line) {
  std::string text(line);
  const auto reason_from = [&](size_t at) { return printable(text.substr(at), text.size()); };
  if (text.starts_with("no ")) return failed_measurement(reason_from(3));
  if (text.starts_with("later ")) return passing_failure(reason_from(6));
  int64_t cost = 0, spread = 0;
  Measurement measurement;
  int length = 0;
  int fields = std::sscanf(text.c_str(), "ok %" SCNd64 " %" SCNd64 " %d %d%n", &cost, &spread, &measurement.runs,
                           &measurement.compiled, &length);
  const bool is_good = fields == 4 && cost >= 0 && spread >= 0 && measurement.runs > 0 && measurement.compiled >= 0;
  if (!is_good) return std::nullopt;
  measurement.cost = Duration::picoseconds(cost);
  measurement.spread = Duration::picoseconds(spread);
  if (static_cast<size_t>(length) < text.size()) measurement.disturbance = text.substr(static_cast<size_t>(length) + 1);
  return measurement;
}

}  // namespace collage::measure
