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
  made.repeated = columns.repeated != 0;
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

Decision decide(const CostRow* old, const Measurement& made) {
  if (old == nullptr) return {Stored::Added, made};
  const bool ran_out_of_time = old->measurement.failed() && old->measurement.timeout > Duration();
  if (!old->problem.empty() || ran_out_of_time) return {Stored::Replaced, made};
  // The same row again, of an imported file, is no other measurement.
  Measurement in_table = made;
  in_table.compiled = old->measurement.compiled;
  if (in_table == old->measurement) return {Stored::Known, old->measurement};
  Measurement kept = after_repeat(old->measurement, made);
  const Stored stored = kept == old->measurement ? Stored::Known : Stored::Replaced;
  return {stored, std::move(kept)};
}

void count(Stored stored, Written* written) {
  switch (stored) {
    case Stored::Added: ++written->added; break;
    case Stored::Replaced: ++written->replaced; break;
    case Stored::Known: ++written->known; break;
  }
}

}  // namespace collage::measure
