// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/trace_data.h"

#include <nlohmann/json.hpp>

namespace collage::page {
namespace {

using nlohmann::ordered_json;
using runner::TraceStep;

ordered_json slot_data(const runtime::Slot& slot) {
  return {slot.start.seconds(), slot.finish.seconds()};
}

ordered_json step_data(const runner::Trace& trace, const TraceStep& step) {
  ordered_json json = {{"kind", runner::name_of(step.kind)}, {"name", step.name}};
  if (step.moves()) {
    json["from"] = step.from;
    json["to"] = step.to;
    json["bytes"] = step.bytes;
  } else {
    json["partition"] = trace.partitions[static_cast<size_t>(step.partition)].name;
  }
  json["tracks"] = step.tracks;
  json["after"] = step.after;
  json["predicted_s"] = slot_data(step.predicted);
  if (trace.has_run) json["actual_s"] = slot_data(step.actual);
  return json;
}

}  // namespace

ordered_json timeline_data(const runner::Trace& trace) {
  ordered_json json = {
      {"tracks", trace.tracks}, {"overlaps", trace.is_concurrent}, {"predicted_s", trace.predicted.seconds()}};
  if (trace.has_run) json["actual_s"] = trace.actual.seconds();
  json["in_turn_s"] = trace.in_turn().seconds();
  json["steps"] = ordered_json::array();
  for (const TraceStep& step : trace.steps) json["steps"].push_back(step_data(trace, step));
  return json;
}

ordered_json memory_data(const runner::Trace& trace) {
  ordered_json spaces = ordered_json::array();
  for (const runner::SpaceUse& use : trace.spaces) {
    ordered_json live = ordered_json::array();
    for (const auto& [time, bytes] : use.live) live.push_back({time.seconds(), bytes});
    spaces.push_back({{"space", use.space},
                      {"arena", use.arena},
                      {"constants", use.constants},
                      {"most", use.most},
                      {"live", std::move(live)}});
  }
  return spaces;
}

}  // namespace collage::page
