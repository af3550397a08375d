// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_rules.h"

#include <algorithm>
#include <utility>

#include "runtime/support/utf8.h"

namespace collage::measure {

Measurement to_measurement(CostColumns columns) {
  Measurement made;
  made.cost = Duration::picoseconds(columns.cost);
  made.spread = Duration::picoseconds(columns.spread);
  made.runs = static_cast<int>(std::clamp<int64_t>(columns.runs, -1, 1'000'000'000));
  made.failure = std::move(columns.failure);
  made.timeout = Duration::picoseconds(columns.timeout);
  made.date = columns.date;
  made.disturbance = std::move(columns.disturbance);
  return made;
}

std::string problem_of_measured(const Measurement& measured) {
  if (!support::is_utf8(measured.failure)) return "the failure is not UTF-8";
  if (!support::is_utf8(measured.disturbance)) return "the disturbance is not UTF-8";
  return problem_of(measured);
}

std::string problem_of_key(const CostRow& row) {
  if (!support::is_utf8(row.candidate)) return "the candidate is not UTF-8";
  return support::is_utf8(row.environment) ? "" : "the environment is not UTF-8";
}

Stored decide(const CostRow* old, const Measurement& made) {
  if (old == nullptr) return Stored::Added;
  const bool ran_out_of_time = old->measurement.failed() && old->measurement.timeout > Duration();
  const bool makes_way = !old->problem.empty() || ran_out_of_time || is_better(made, old->measurement);
  return makes_way ? Stored::Replaced : Stored::Known;
}

void count(Stored stored, Written* written) {
  switch (stored) {
    case Stored::Added: ++written->added; break;
    case Stored::Replaced: ++written->replaced; break;
    case Stored::Known: ++written->known; break;
  }
}

}  // namespace collage::measure
