// SPDX-License-Identifier: Apache-2.0
//     timeline    36.2 us, predicted 35.1 us, one after another 52.7 us
//                 host          predicted |##                            ##|
//                               actual    |###                           ##|
//                 npu[0]        predicted |     ########   #######         |
//     memory      host          786 kB arena, 786 kB in use at most
//
// Without a run there is one line for each track that the plan uses, and the words `predicted` and `actual` are left
// out.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/duration.h"
#include "runtime/core/text.h"
#include "runtime/runner/trace.h"

namespace collage::runner {
namespace {

using runtime::Duration;
using runtime::Slot;

constexpr size_t kWidestName = 20;
constexpr size_t kLeastColumns = 40;
constexpr size_t kWidth = 100;

std::string bytes_text(size_t bytes) {
  const auto count = static_cast<double>(bytes);
  return runtime::with_prefix(count) + (count >= 1e4 ? "B" : " B");
}

bool holds(const TraceStep& step, int track) {
  return std::find(step.tracks.begin(), step.tracks.end(), track) != step.tracks.end();
}

bool is_used(const Trace& trace, int track) {
  return std::any_of(trace.steps.begin(), trace.steps.end(), [&](const TraceStep& step) { return holds(step, track); });
}

/// How a track is used: `#` most of a column's time, `+` some of it.
std::string bar(const Trace& trace, int track, Slot TraceStep::*slot, size_t columns) {
  const double end = std::max(trace.predicted, trace.actual).seconds();
  std::vector<double> used(columns, 0.0);
  if (end <= 0) return std::string(columns, ' ');
  for (const TraceStep& step : trace.steps) {
    if (!holds(step, track)) continue;
    const double first = (step.*slot).start.seconds() / end * static_cast<double>(columns);
    const double last = (step.*slot).finish.seconds() / end * static_cast<double>(columns);
    for (auto c = static_cast<size_t>(first); c < columns && static_cast<double>(c) < last; ++c) {
      const auto at = static_cast<double>(c);
      used[c] += std::min(last, at + 1) - std::max(first, at);
    }
  }
  std::string text;
  for (double part : used) text += part >= 0.5 ? '#' : part > 0 ? '+' : ' ';
  return text;
}

}  // namespace

std::string print(const Trace& trace) {
  size_t name = 0;
  for (const std::string& track : trace.tracks) name = std::max(name, std::min(track.size(), kWidestName));
  const size_t before = 12 + name + 2 + (trace.has_run ? 10 : 0);  // columns before the first bar
  const size_t columns = std::max(kLeastColumns, kWidth - before - 2);
  std::string text = fmt::format("{:<12}{}{}", "timeline", trace.has_run ? runtime::human(trace.actual) + ", " : "",
                                 "predicted " + runtime::human(trace.predicted));
  if (trace.is_concurrent) text += fmt::format(", {} one after another", runtime::human(trace.in_turn()));
  text += "\n";
  for (size_t track = 0; track < trace.tracks.size(); ++track) {
    const auto index = static_cast<int>(track);
    if (!trace.has_run && !is_used(trace, index)) continue;
    const std::string label = trace.tracks[track].substr(0, kWidestName);
    text += fmt::format("{:<12}{:<{}}  {}|{}|\n", "", label, name, trace.has_run ? "predicted " : "",
                        bar(trace, index, &TraceStep::predicted, columns));
    if (!trace.has_run) continue;
    text += fmt::format("{:<12}{:<{}}  actual    |{}|\n", "", "", name, bar(trace, index, &TraceStep::actual, columns));
  }
  for (const SpaceUse& use : trace.spaces) {
    text += fmt::format("{:<12}{:<{}}  {} for values, {} in use at most, {} of constants\n",
                        &use == &trace.spaces[0] ? "memory" : "", use.space, name, bytes_text(use.arena),
                        bytes_text(use.most), bytes_text(use.constants));
  }
  return text;
}

}  // namespace collage::runner
