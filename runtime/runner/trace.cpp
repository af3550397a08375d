// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/trace.h"

#include <algorithm>

#include "runtime/plan/plan_schedule.h"

namespace collage::runner {
namespace {

using runtime::Duration;
using runtime::Plan;
using runtime::Slot;

const std::string& space_name(const Plan& plan, const runtime::Buffer& buffer) {
  return plan.spaces[static_cast<size_t>(buffer.space)].name;
}

/// Kind, name and bytes.
TraceStep describe_step(const Plan& plan, const runtime::Step& step) {
  TraceStep result;
  if (const auto* convert = std::get_if<runtime::ConvertStep>(&step)) {
    const runtime::Buffer& from = plan.buffers[static_cast<size_t>(convert->from)];
    const runtime::Buffer& to = plan.buffers[static_cast<size_t>(convert->to)];
    result.kind = from.space == to.space ? TraceKind::Conversion : TraceKind::Copy;
    result.name = from.name;
    result.from = space_name(plan, from);
    result.to = space_name(plan, to);
    result.bytes = from.tensor.bytes();
    return result;
  }
  if (const auto* host = std::get_if<runtime::HostStep>(&step)) {
    result.partition = host->partition;
  } else if (const auto* library = std::get_if<runtime::LibraryStep>(&step)) {
    result.kind = TraceKind::Library;
    result.partition = library->partition;
  } else {
    result.kind = TraceKind::Launch;
    result.partition = std::get<runtime::DeviceStep>(step).partition;
  }
  if (result.partition >= 0) result.name = plan.partitions[static_cast<size_t>(result.partition)].name;
  return result;
}

/// When the values of one memory space lie in its arena.
class Lifetimes {
 public:
  Lifetimes(const Plan& plan, const std::vector<Slot>& slots, Duration end)
      : plan_(plan), lives_(plan.buffers.size()), of_space_(plan.spaces.size()) {
    const std::vector<std::vector<runtime::BufferId>> touched = runtime::touched_buffers(plan);
    for (size_t s = 0; s < touched.size(); ++s) {
      for (runtime::BufferId id : touched[s]) extend(id, slots[s]);
    }
    for (const runtime::PlanPort& port : plan.inputs) extend(port.buffer, {});
    for (const runtime::PlanPort& port : plan.outputs) extend(port.buffer, {end, end});
    for (size_t b = 0; b < lives_.size(); ++b) {
      if (lives_[b].is_used) of_space_[static_cast<size_t>(plan.buffers[b].space)].push_back(b);
    }
  }

  /// Bytes of the arena in use at a time: values that end just then have made room.
  size_t bytes_at(int space, Duration time) const {
    ranges_.clear();
    for (size_t b : of_space_[static_cast<size_t>(space)]) {
      const runtime::Buffer& buffer = plan_.buffers[b];
      const Life& life = lives_[b];
      if (life.slot.start > time) continue;
      if (life.slot.finish > time || life.slot.start == time) {
        ranges_.emplace_back(buffer.offset, buffer.offset + buffer.tensor.bytes());
      }
    }
    std::sort(ranges_.begin(), ranges_.end());
    size_t bytes = 0, end = 0;
    for (const auto& [first, last] : ranges_) {  // those that are parts of others count once
      bytes += std::max(end, last) - std::max(end, first);
      end = std::max(end, last);
    }
    return bytes;
  }

 private:
  struct Life {
    bool is_used = false;
    Slot slot{};
  };

  void extend(runtime::BufferId id, const Slot& slot) {
    if (plan_.buffers[static_cast<size_t>(id)].is_constant) return;
    Life& life = lives_[static_cast<size_t>(id)];
    life.slot =
        life.is_used ? Slot{std::min(life.slot.start, slot.start), std::max(life.slot.finish, slot.finish)} : slot;
    life.is_used = true;
  }

  const Plan& plan_;
  std::vector<Life> lives_;
  std::vector<std::vector<size_t>> of_space_;  ///< buffers that are used
  mutable std::vector<std::pair<size_t, size_t>> ranges_;
};

void add_memory(const Plan& plan, const std::vector<Slot>& slots, Trace* trace) {
  std::vector<Duration> times{Duration(), trace->actual};
  for (const Slot& slot : slots) {
    times.push_back(slot.start);
    times.push_back(slot.finish);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const Lifetimes lifetimes(plan, slots, trace->actual);
  for (size_t i = 0; i < plan.spaces.size(); ++i) {
    const runtime::MemorySpace& space = plan.spaces[i];
    SpaceUse use{space.name, space.arena_bytes, space.constant_bytes};
    for (const Duration& time : times) {
      const size_t bytes = lifetimes.bytes_at(static_cast<int>(i), time);
      use.most = std::max(use.most, bytes);
      if (use.live.empty() || use.live.back().second != bytes) use.live.emplace_back(time, bytes);
    }
    trace->spaces.push_back(std::move(use));
  }
}

}  // namespace

const char* name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::Kernels: return "kernels";
    case TraceKind::Library: return "library";
    case TraceKind::Launch: return "launch";
    case TraceKind::Copy: return "copy";
    case TraceKind::Conversion: return "conversion";
  }
  return "";
}

Duration Trace::in_turn() const {
  Duration sum;
  for (const TraceStep& step : steps) sum += step.actual.finish - step.actual.start;
  return sum;
}

Trace predicted_trace(const Plan& plan) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  Trace trace = make_trace(plan, runtime::predicted_timeline(plan, runtime::tasks_of(plan, machine)));
  trace.has_run = false;
  return trace;
}

Trace make_trace(const Plan& plan, const runtime::Timeline& actual) {
  return make_trace(plan, actual.slots());
}

Trace make_trace(const Plan& plan, const std::vector<Slot>& actual) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  const runtime::Timeline predicted = runtime::predicted_timeline(plan, tasks);
  Trace trace;
  trace.model = plan.model;
  trace.is_concurrent = plan.is_concurrent;
  trace.tracks = machine.names();
  trace.partitions = plan.partitions;
  trace.predicted = predicted.makespan();
  for (const Slot& slot : actual) trace.actual = std::max(trace.actual, slot.finish);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    TraceStep step = describe_step(plan, plan.steps[s]);
    step.tracks = tasks[s].resources;
    step.after = tasks[s].after;
    step.predicted = predicted.slots()[s];
    step.actual = actual[s];
    trace.steps.push_back(std::move(step));
  }
  add_memory(plan, actual, &trace);
  return trace;
}

std::optional<Trace> trace_model(const std::vector<runtime::Tensor>& inputs, runtime::Executor& executor,
                                 support::Diagnostics& diags) {
  for (const bool is_warm : {false, true}) {
    // Steps that run one after another are timed one by one; of others the runner keeps the times itself.
    if (is_warm && !executor.plan().is_concurrent) executor.observe([](const runtime::StepReport&) {});
    const runtime::Result<std::vector<runtime::Tensor>> outputs = executor.run(inputs);
    executor.observe({});
    if (!outputs) return diags.error_at(support::Code::RunFailed, executor.plan().model, "{}", outputs.message());
  }
  return make_trace(executor.plan(), executor.timeline());
}

}  // namespace collage::runner
