// SPDX-License-Identifier: Apache-2.0
// The Trace Event Format ("Trace Event Format", Google, 2016): times in microseconds.
//
//     X  a slice of a thread: one for each track that a step holds
//     s, f  the two ends of an arrow, in the slices that they lie in
//     C  a counter
//     M  names of processes and threads
#include <nlohmann/json.hpp>

#include "runtime/runner/trace.h"
#include "runtime/support/write_file.h"

namespace collage::runner {
namespace {

using nlohmann::ordered_json;
using runtime::Duration;
using runtime::Slot;

constexpr int kPredicted = 1;  // processes of the trace
constexpr int kActual = 2;

double microseconds(Duration time) {
  return static_cast<double>(time.ps()) / 1e6;
}

class TraceWriter {
 public:
  explicit TraceWriter(const Trace& trace) : trace_(trace) {}

  std::string write() {
    name_process(kPredicted, "predicted");
    if (trace_.has_run) name_process(kActual, "actual");
    for (size_t s = 0; s < trace_.steps.size(); ++s) {
      add_slices(s, kPredicted, trace_.steps[s].predicted);
      if (trace_.has_run) add_slices(s, kActual, trace_.steps[s].actual);
    }
    for (const TraceStep& step : trace_.steps) {
      for (int before : step.after) {
        const TraceStep& first = trace_.steps[static_cast<size_t>(before)];
        add_arrow(kPredicted, first, first.predicted, step, step.predicted);
        if (trace_.has_run) add_arrow(kActual, first, first.actual, step, step.actual);
      }
    }
    for (const SpaceUse& use : trace_.spaces) add_counter(use);
    const ordered_json document = {{"displayTimeUnit", "ns"},
                                   {"otherData", {{"model", trace_.model}, {"steps overlap", trace_.is_concurrent}}},
                                   {"traceEvents", std::move(events_)}};
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  }

 private:
  void name_process(int process, const char* name) {
    events_.push_back({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
    for (size_t track = 0; track < trace_.tracks.size(); ++track) {
      events_.push_back({{"ph", "M"},
                         {"pid", process},
                         {"tid", track},
                         {"name", "thread_name"},
                         {"args", {{"name", trace_.tracks[track]}}}});
    }
  }

  ordered_json arguments(size_t index) const {
    const TraceStep& step = trace_.steps[index];
    ordered_json result = {{"step", index}};
    if (step.moves()) {
      result["from"] = step.from;
      result["to"] = step.to;
      result["bytes"] = step.bytes;
    } else {
      const runtime::PlanPartition& partition = trace_.partitions[static_cast<size_t>(step.partition)];
      result["partition"] = partition.name;
      result["backend"] = partition.backend;
      result["instance"] = partition.instance;
      result["rules"] = partition.rules;
      result["nodes"] = partition.nodes;
    }
    result["predicted us"] = microseconds(step.predicted.finish - step.predicted.start);
    if (trace_.has_run) result["actual us"] = microseconds(step.actual.finish - step.actual.start);
    return result;
  }

  void add_slices(size_t index, int process, const Slot& slot) {
    const TraceStep& step = trace_.steps[index];
    const std::string name = step.kind == TraceKind::Copy ? step.name + ": " + step.from + " to " + step.to : step.name;
    for (int track : step.tracks) {
      events_.push_back({{"ph", "X"},
                         {"pid", process},
                         {"tid", track},
                         {"ts", microseconds(slot.start)},
                         {"dur", microseconds(slot.finish - slot.start)},
                         {"name", name},
                         {"cat", name_of(step.kind)},
                         {"args", arguments(index)}});
    }
  }

  void add_arrow(int process, const TraceStep& first, const Slot& from, const TraceStep& second, const Slot& to) {
    if (first.tracks.empty() || second.tracks.empty()) return;
    const int id = ++arrows_;
    // An arrow begins in the slice that is there at its time, so a little before the end.
    const double begin = microseconds(from.start + Duration::picoseconds((from.finish - from.start).ps() / 2));
    events_.push_back({{"ph", "s"},
                       {"id", id},
                       {"pid", process},
                       {"tid", first.tracks[0]},
                       {"ts", begin},
                       {"name", "needs"},
                       {"cat", "dependency"}});
    events_.push_back({{"ph", "f"},
                       {"bp", "e"},
                       {"id", id},
                       {"pid", process},
                       {"tid", second.tracks[0]},
                       {"ts", microseconds(to.start)},
                       {"name", "needs"},
                       {"cat", "dependency"}});
  }

  void add_counter(const SpaceUse& use) {
    for (const auto& [time, bytes] : use.live) {
      events_.push_back({{"ph", "C"},
                         {"pid", trace_.has_run ? kActual : kPredicted},
                         {"ts", microseconds(time)},
                         {"name", "memory of " + use.space},
                         {"args", {{"bytes", bytes}}}});
    }
  }

  const Trace& trace_;
  ordered_json events_ = ordered_json::array();
  int arrows_ = 0;
};

}  // namespace

std::string to_trace_json(const Trace& trace) {
  return TraceWriter(trace).write();
}

bool write_trace(const TraceRequest& request, const Trace& trace, support::Diagnostics& diags) {
  return request.file.empty() || support::write_file(request.file, to_trace_json(trace), diags);
}

}  // namespace collage::runner
