// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/cluster_trace.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/cluster/collectives.h"
#include "runtime/core/host_space.h"
#include "runtime/core/text.h"

namespace collage::runner {
namespace {

using nlohmann::json;
using runtime::Duration;
using runtime::Result;
using runtime::Slot;
using runtime::Status;

int64_t nanoseconds(runtime::WallTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

Duration from_ns(int64_t ns) {
  return Duration::seconds(static_cast<double>(ns) * 1e-9);
}

/// A name of a part in the words of the whole: of host 2, `host` => `host[2]`, `host[0]` => `host`.
std::string global_name(const std::string& name, int host) {
  std::string text;
  for (const std::string& word : runtime::split(name, ' ')) {
    const std::optional<int> number = runtime::host_number(word);
    const bool is_own = word == runtime::host_space(0);
    if (!text.empty()) text += ' ';
    text += !number ? word : runtime::host_space(is_own ? host : *number);
  }
  return text;
}

json slot_json(const Slot& slot) {
  return {slot.start.ps(), slot.finish.ps()};
}

Slot slot_from(const json& value) {
  return {Duration::picoseconds(value.at(0)), Duration::picoseconds(value.at(1))};
}

/// Puts the parts side by side.
class TraceMerger {
 public:
  TraceMerger(std::vector<PartTrace> parts, const std::vector<int64_t>& offsets_ns) : parts_(std::move(parts)) {
    for (size_t p = 0; p < parts_.size(); ++p) {
      parts_[p].origin_ns -= offsets_ns[p];
      first_ns_ = p == 0 ? parts_[p].origin_ns : std::min(first_ns_, parts_[p].origin_ns);
    }
  }

  Trace merge() {
    whole_.model = parts_.front().trace.model;
    whole_.is_concurrent = true;
    for (const PartTrace& part : parts_) add(part);
    pair_copies();
    predict();
    for (const TraceStep& step : whole_.steps) whole_.actual = std::max(whole_.actual, step.actual.finish);
    return std::move(whole_);
  }

 private:
  /// Copies of one pair of hosts, of the whole, in order: those that are sent and those that are received.
  struct Halves {
    std::vector<int> sends, receives;
  };

  int track(const std::string& name) {
    const auto at = std::find(whole_.tracks.begin(), whole_.tracks.end(), name);
    if (at != whole_.tracks.end()) return static_cast<int>(at - whole_.tracks.begin());
    whole_.tracks.push_back(name);
    return static_cast<int>(whole_.tracks.size()) - 1;
  }

  void add(const PartTrace& part) {
    const int step_base = static_cast<int>(whole_.steps.size());
    const int partition_base = static_cast<int>(whole_.partitions.size());
    const Duration shift = from_ns(part.origin_ns - first_ns_);
    const std::string own = runtime::host_space(part.host);
    track(own);
    begins_.push_back(step_base);
    for (TraceStep step : part.trace.steps) {
      for (int& before : step.after) before += step_base;
      if (step.partition >= 0) step.partition += partition_base;
      step.actual = {step.actual.start + shift, step.actual.finish + shift};
      const bool is_between_hosts =
          step.moves() && step.from != step.to && runtime::is_host_space(step.from) && runtime::is_host_space(step.to);
      step.from = global_name(step.from, part.host);
      step.to = global_name(step.to, part.host);
      std::vector<int> tracks;
      if (is_between_hosts) {
        const bool sends = step.from == own;
        tracks = {track(own + (sends ? " to " + step.to : " from " + step.from))};
        Halves& halves = halves_[{step.from, step.to}];
        (sends ? halves.sends : halves.receives).push_back(static_cast<int>(whole_.steps.size()));
      } else {
        for (int one : step.tracks) {
          tracks.push_back(track(global_name(part.trace.tracks[static_cast<size_t>(one)], part.host)));
        }
      }
      step.tracks = std::move(tracks);
      whole_.steps.push_back(std::move(step));
    }
    for (runtime::PlanPartition partition : part.trace.partitions) whole_.partitions.push_back(std::move(partition));
    for (SpaceUse use : part.trace.spaces) {
      if (runtime::is_other_host(use.space)) continue;  // it has no memory here
      use.space = global_name(use.space, part.host);
      for (auto& [time, bytes] : use.live) time += shift;
      whole_.spaces.push_back(std::move(use));
    }
  }

  /// The n-th that is sent is the n-th that is received.
  void pair_copies() {
    partner_.assign(whole_.steps.size(), -1);
    for (const auto& [ends, halves] : halves_) {
      for (size_t n = 0; n < std::min(halves.sends.size(), halves.receives.size()); ++n) {
        const int send = halves.sends[n], receive = halves.receives[n];
        whole_.steps[static_cast<size_t>(receive)].after.push_back(send);
        partner_[static_cast<size_t>(send)] = receive;
        partner_[static_cast<size_t>(receive)] = send;
      }
    }
  }

  /// Adds steps in the order of each part; both halves of a copy are one task, added when both parts have come to it.
  void predict() {
    const size_t count = whole_.steps.size();
    std::vector<int> task_of(count, -1);
    std::vector<size_t> next(begins_.begin(), begins_.end());
    runtime::Timeline timeline;
    int tasks = 0;
    const auto end_of = [&](size_t part) {
      return part + 1 < begins_.size() ? static_cast<size_t>(begins_[part + 1]) : count;
    };
    const auto is_next = [&](int step) {
      return std::find(next.begin(), next.end(), static_cast<size_t>(step)) != next.end();
    };
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (size_t part = 0; part < begins_.size(); ++part) {
        for (; next[part] < end_of(part); ++next[part]) {
          const size_t s = next[part];
          if (task_of[s] >= 0) continue;  // with its other half
          const int partner = partner_[s];
          if (partner >= 0 && !is_next(partner)) break;
          add_task(s, partner, &task_of, &timeline, tasks++);
          has_moved = true;
        }
      }
    }
    whole_.predicted = timeline.makespan();
  }

  void add_task(size_t step, int partner, std::vector<int>* task_of, runtime::Timeline* timeline, int task) {
    runtime::Task made;
    std::vector<size_t> halves{step};
    if (partner >= 0) halves.push_back(static_cast<size_t>(partner));
    for (size_t half : halves) {
      const TraceStep& one = whole_.steps[half];
      made.length = std::max(made.length, one.predicted.finish - one.predicted.start);
      made.resources.insert(made.resources.end(), one.tracks.begin(), one.tracks.end());
      for (int before : one.after) {
        const int other = (*task_of)[static_cast<size_t>(before)];
        if (other >= 0 && other != task) made.after.push_back(other);
      }
      (*task_of)[half] = task;
    }
    const Slot slot = timeline->add(made);
    for (size_t half : halves) whole_.steps[half].predicted = slot;
  }

  std::vector<PartTrace> parts_;
  int64_t first_ns_ = 0;
  Trace whole_;
  std::vector<int> begins_;  ///< by part: its first step
  std::map<std::pair<std::string, std::string>, Halves> halves_;
  std::vector<int> partner_;  ///< by step: the other half; -1: it has none
};

}  // namespace

std::optional<PartTrace> trace_of_part(const runtime::ClusterProgram& program) {
  const std::vector<runtime::WallSlot>& walls = program.executor(0).execution().runner().wall_slots();
  const runtime::Plan& plan = program.program().plan();
  if (walls.size() != plan.steps.size()) return std::nullopt;
  PartTrace part;
  part.host = plan.part.host;
  for (size_t s = 0; s < walls.size(); ++s) {
    const int64_t start = nanoseconds(walls[s].start);
    part.origin_ns = s == 0 ? start : std::min(part.origin_ns, start);
  }
  std::vector<Slot> slots;
  for (const runtime::WallSlot& wall : walls) {
    slots.push_back(
        {from_ns(nanoseconds(wall.start) - part.origin_ns), from_ns(nanoseconds(wall.finish) - part.origin_ns)});
  }
  part.trace = make_trace(plan, slots);
  return part;
}

Trace merge_traces(std::vector<PartTrace> parts, const std::vector<int64_t>& offsets_ns) {
  return TraceMerger(std::move(parts), offsets_ns).merge();
}

std::string to_text(const PartTrace& part) {
  const Trace& trace = part.trace;
  json steps = json::array(), spaces = json::array(), partitions = json::array();
  for (const TraceStep& step : trace.steps) {
    steps.push_back({static_cast<int>(step.kind), step.name, step.partition, step.from, step.to, step.bytes,
                     step.tracks, step.after, slot_json(step.predicted), slot_json(step.actual)});
  }
  for (const SpaceUse& use : trace.spaces) {
    json live = json::array();
    for (const auto& [time, bytes] : use.live) live.push_back({time.ps(), bytes});
    spaces.push_back({use.space, use.arena, use.constants, use.most, std::move(live)});
  }
  for (const runtime::PlanPartition& one : trace.partitions) {
    partitions.push_back({one.name, one.backend, one.instance, one.nodes, one.cost.ps(), one.rules});
  }
  const json whole = {part.host,        part.origin_ns,    trace.model,           trace.tracks,
                      std::move(steps), std::move(spaces), std::move(partitions), trace.predicted.ps(),
                      trace.actual.ps()};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

runtime::Result<PartTrace> part_from_text(const std::string& text) {
  try {
    const json whole = json::parse(text);
    PartTrace part{whole.at(0).get<int>(), whole.at(1).get<int64_t>(), {}};
    Trace& trace = part.trace;
    trace.model = whole.at(2);
    trace.tracks = whole.at(3).get<std::vector<std::string>>();
    for (const json& row : whole.at(4)) {
      TraceStep step;
      step.kind = static_cast<TraceKind>(row.at(0).get<int>());
      step.name = row.at(1);
      step.partition = row.at(2);
      step.from = row.at(3);
      step.to = row.at(4);
      step.bytes = row.at(5);
      step.tracks = row.at(6).get<std::vector<int>>();
      step.after = row.at(7).get<std::vector<int>>();
      step.predicted = slot_from(row.at(8));
      step.actual = slot_from(row.at(9));
      trace.steps.push_back(std::move(step));
    }
    for (const json& row : whole.at(5)) {
      SpaceUse use{row.at(0), row.at(1), row.at(2), row.at(3)};
      for (const json& point : row.at(4)) use.live.emplace_back(Duration::picoseconds(point.at(0)), point.at(1));
      trace.spaces.push_back(std::move(use));
    }
    for (const json& row : whole.at(6)) {
      trace.partitions.push_back({row.at(0), row.at(1), row.at(2), row.at(3).get<std::vector<std::string>>(),
                                  Duration::picoseconds(row.at(4)), row.at(5).get<std::vector<std::string>>()});
    }
    trace.predicted = Duration::picoseconds(whole.at(7));
    trace.actual = Duration::picoseconds(whole.at(8));
    return part;
  } catch (const std::exception& exception) {
    return Status::error(std::string("the trace of another rank cannot be read: ") + exception.what());
  }
}

Result<std::optional<Trace>> gather_trace(const runtime::ClusterProgram& program) {
  runtime::Transport& transport = program.transport();
  const Result<std::vector<runtime::ClockReading>> clocks = runtime::measure_clocks(transport);
  if (!clocks) return clocks.status();
  const std::optional<PartTrace> own = trace_of_part(program);
  const Result<std::vector<std::string>> texts = runtime::gather(transport, own ? to_text(*own) : "");
  if (!texts) return texts.status();
  std::vector<PartTrace> parts;
  std::vector<int64_t> offsets;
  for (size_t rank = 0; rank < texts->size(); ++rank) {
    if ((*texts)[rank].empty()) return std::optional<Trace>();
    Result<PartTrace> part = part_from_text((*texts)[rank]);
    if (!part) return part.status();
    parts.push_back(std::move(*part));
    offsets.push_back((*clocks)[rank].offset_ns);
  }
  if (parts.empty()) return std::optional<Trace>();
  return std::optional(merge_traces(std::move(parts), offsets));
}

}  // namespace collage::runner
