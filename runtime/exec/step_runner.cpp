// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/step_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "runtime/exec/run_host_step.h"

namespace collage::runtime {
namespace {

using StepClock = std::chrono::steady_clock;

double seconds_since(StepClock::time_point start) {
  return std::chrono::duration<double>(StepClock::now() - start).count();
}

bool is_empty(const Buffer& buffer) {
  return element_count(buffer.tensor.shape) == 0;
}

/// Gives a bound step to a queue. What the host does for it at its start is done here.
struct Giver {
  DeviceQueue& queue;

  Status operator()(const BoundHostStep&) const { return Status::error("a step of the host on a queue"); }
  Status operator()(const BoundLaunch& step) const { return queue.launch(step.ops, step.duration); }
  Status operator()(const BoundCopyIn& step) const {
    if (is_empty(*step.to)) return Status::ok();
    const std::byte* from = step.source;
    if (!step.staging.is_empty_handle()) {
      const StoredTensor& tensor = step.from->tensor;
      rewrite(tensor.dtype, tensor.shape, step.source, tensor.form, step.staging.data(), step.to->tensor.form);
      from = step.staging.data();
    }
    return queue.copy_in({from, step.to->tensor.bytes()}, step.target);
  }
  Status operator()(const BoundCopyOut& step) const {
    if (is_empty(*step.from)) return Status::ok();
    std::byte* to = step.staging.is_empty_handle() ? step.target : step.staging.data();
    return queue.copy_out(step.source, {to, step.from->tensor.bytes()});
  }
  Status operator()(const BoundCopyPeer& step) const {
    return queue.copy_peer(step.source, *step.to_device, step.target, step.bytes);
  }
  Status operator()(const BoundReorder& step) const { return queue.reorder(step.source, step.target, step.duration); }
};

/// The host's part of a copy that has arrived in staging memory.
void take_from_staging(const BoundCopyOut& step) {
  if (is_empty(*step.from)) return;
  const StoredTensor& tensor = step.from->tensor;
  rewrite(tensor.dtype, tensor.shape, step.staging.data(), tensor.form, step.target, step.to->tensor.form);
}

/// A step as a user knows it: the partition, or the value that is moved.
std::string describe(const Plan& plan, size_t step) {
  int partition = -1;
  if (const auto* host = std::get_if<HostStep>(&plan.steps[step])) partition = host->partition;
  if (const auto* library = std::get_if<LibraryStep>(&plan.steps[step])) partition = library->partition;
  if (const auto* device = std::get_if<DeviceStep>(&plan.steps[step])) partition = device->partition;
  if (const auto* convert = std::get_if<ConvertStep>(&plan.steps[step])) {
    const Buffer& from = plan.buffers[static_cast<size_t>(convert->from)];
    const Buffer& to = plan.buffers[static_cast<size_t>(convert->to)];
    return "conversion of `" + from.name + "` from " + plan.spaces[static_cast<size_t>(from.space)].name + " to " +
           plan.spaces[static_cast<size_t>(to.space)].name;
  }
  if (partition < 0) return "step " + std::to_string(step);
  const PlanPartition& at = plan.partitions[static_cast<size_t>(partition)];
  return "partition `" + at.name + "` on " + at.instance;
}

}  // namespace

StepRunner::StepRunner(const Program& program, const std::vector<BoundStep>& steps)
    : program_(program),
      steps_(steps),
      tasks_(program.tasks()),
      states_(steps.size(), State::Pending),
      events_(steps.size()),
      seconds_(steps.size(), 0) {}

Status StepRunner::open() {
  if (program_.threads() > 1 && !program_.uses_openmp()) workers_ = std::make_unique<Workers>(program_.threads());
  for (const StepQueue& described : program_.graph().queues) {
    Result<std::unique_ptr<DeviceQueue>> queue = program_.device(described.device).open_queue(described.kind);
    if (!queue) return queue.status();
    queues_.push_back(std::move(*queue));
  }
  clocks_.assign(queues_.size(), Duration());
  heads_.assign(queues_.size(), 0);
  return Status::ok();
}

Status StepRunner::run(const Observer& observer) {
  timeline_ = Timeline();
  std::fill(states_.begin(), states_.end(), State::Pending);
  std::fill(events_.begin(), events_.end(), nullptr);
  std::fill(heads_.begin(), heads_.end(), 0);
  Status status = Status::ok();
  try {
    status = run_steps(observer);
  } catch (const std::exception& exception) {  // no memory for what an operator needs
    status = Status::error(exception.what());
  }
  if (status) fill_timeline(static_cast<bool>(observer));
  end_run();
  return status;
}

Status StepRunner::run_steps(const Observer& observer) {
  const bool is_observed = static_cast<bool>(observer);
  const bool is_timed = is_observed || program_.plan().is_concurrent;
  const bool looks_ahead = program_.plan().is_concurrent && !is_observed && !queues_.empty();
  for (size_t s = 0; s < steps_.size(); ++s) {
    StepClock::time_point start = is_timed ? StepClock::now() : StepClock::time_point();
    if (node(s).queue < 0) {
      if (looks_ahead) {
        if (Status status = give_ready(); !status) return status;
      }
      for (int before : node(s).after) {
        if (Status status = complete(static_cast<size_t>(before)); !status) return status;
      }
      if (is_timed) start = StepClock::now();
      if (Status status = run_on_host(s, is_observed); !status) return status;
    } else if (states_[s] == State::Pending) {
      if (Status status = give(s); !status) return status;
    }
    if (is_observed) {
      if (Status status = complete(s); !status) return status;
    }
    if (is_timed) seconds_[s] = seconds_since(start);
    if (is_observed) observer({s, seconds_[s], call_seconds_});
  }
  for (size_t s = 0; s < steps_.size() && !queues_.empty(); ++s) {
    if (Status status = complete(s); !status) return status;
  }
  return Status::ok();
}

Status StepRunner::run_on_host(size_t step, bool is_observed) {
  call_seconds_.clear();
  const auto& bound = std::get<BoundHostStep>(steps_[step]);
  Status status = run_host_step(bound, {program_.threads(), workers_.get()}, is_observed ? &call_seconds_ : nullptr);
  states_[step] = State::Done;
  return status ? status : Status::error(describe(program_.plan(), step) + ": " + status.message());
}

Status StepRunner::give(size_t step) {
  call_seconds_.clear();
  DeviceQueue& queue = *queues_[static_cast<size_t>(node(step).queue)];
  for (int earlier : node(step).after) {
    const auto before = static_cast<size_t>(earlier);
    Status status = Status::ok();
    if (needs_host(step, before)) {
      if (status = complete(before); !status) return status;
    } else if (states_[before] != State::Done) {
      if (status = queue.wait(events_[before]); !status) return blame(step, status);
    }
  }
  if (Status status = std::visit(Giver{queue}, steps_[step]); !status) return blame(step, status);
  events_[step] = queue.record();
  states_[step] = State::Given;
  return Status::ok();
}

Status StepRunner::give_ready() {
  const std::vector<StepQueue>& queues = program_.graph().queues;
  for (bool has_given = true; has_given;) {
    has_given = false;
    for (size_t q = 0; q < queues.size(); ++q) {
      for (size_t& head = heads_[q]; head < queues[q].steps.size(); ++head) {
        const auto step = static_cast<size_t>(queues[q].steps[head]);
        if (states_[step] != State::Pending) continue;
        if (!can_give(step)) break;
        if (Status status = give(step); !status) return status;
        has_given = true;
      }
    }
  }
  return Status::ok();
}

bool StepRunner::can_give(size_t step) const {
  if (const int host = node(step).after_host; host >= 0 && states_[static_cast<size_t>(host)] != State::Done) {
    return false;
  }
  return std::all_of(node(step).after.begin(), node(step).after.end(), [&](int earlier) {
    const auto before = static_cast<size_t>(earlier);
    if (states_[before] == State::Done) return true;
    const bool is_given = states_[before] == State::Given;
    return is_given && (!needs_host(step, before) || events_[before]->is_reached());
  });
}

Status StepRunner::complete(size_t step) {
  if (states_[step] == State::Done) return Status::ok();
  if (Status status = events_[step]->wait(); !status) return blame(step, status);
  if (node(step).ends_on_host) take_from_staging(std::get<BoundCopyOut>(steps_[step]));
  states_[step] = State::Done;
  return Status::ok();
}

/// After a failure, too: commands that were given may still use the memory of this execution.
void StepRunner::end_run() {
  for (size_t q = 0; q < queues_.size(); ++q) {
    queues_[q]->reset();
    const EventRef end = queues_[q]->record();
    (void)end->wait();
    if (program_.device(program_.graph().queues[q].device).is_simulated()) device_time_ += end->clock() - clocks_[q];
    clocks_[q] = end->clock();
  }
}

void StepRunner::fill_timeline(bool is_observed) {
  const std::vector<StepQueue>& queues = program_.graph().queues;
  for (size_t q = 0; q < queues.size(); ++q) {
    Duration clock = clocks_[q];
    for (int step : queues[q].steps) {
      const auto s = static_cast<size_t>(step);
      tasks_[s].length = events_[s]->clock() - clock;
      clock = events_[s]->clock();
    }
  }
  const bool is_timed = is_observed || program_.plan().is_concurrent;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const bool has_clock = node(s).queue >= 0 && (program_.is_simulated(s) || !is_observed);
    if (!has_clock) tasks_[s].length = Duration::seconds(is_timed ? seconds_[s] : 0);
    timeline_.add(tasks_[s]);
  }
}

/// The first step whose event has a failure: what waited for it has the same one.
Status StepRunner::blame(size_t step, const Status& failure) const {
  for (size_t s = 0; s < events_.size(); ++s) {
    if (events_[s] == nullptr || !events_[s]->is_reached()) continue;
    if (Status status = events_[s]->wait(); !status) {
      return Status::error(describe(program_.plan(), s) + ": " + status.message());
    }
  }
  return Status::error(describe(program_.plan(), step) + ": " + failure.message());
}

}  // namespace collage::runtime
