// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/step_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <set>

#include "runtime/exec/run_host_step.h"
#include "runtime/plan/arena_stays.h"
#include "runtime/pool/pool.h"

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

StepRunner::StepRunner(const Program& program, const std::vector<BoundStep>& steps, ArenaTurns& turns)
    : program_(program),
      steps_(steps),
      turns_(turns),
      is_part_(program.plan().part.hosts > 1),
      tasks_(program.tasks()),
      states_(steps.size(), State::Pending),
      events_(steps.size()),
      seconds_(steps.size(), 0),
      starts_(steps.size()),
      replaced_(steps.size()),
      tries_(steps.size(), 0) {
  const size_t spaces = program.plan().spaces.size();
  for (size_t space = 0; space < spaces; ++space) {
    if (!turns_.has(static_cast<int>(space))) continue;
    if (touched_.empty()) {
      in_arena_ = steps_in_arenas(program.plan());
      touched_.resize(steps.size());
    }
    for (int step : in_arena_[space]) touched_[static_cast<size_t>(step)].push_back(static_cast<int>(space));
  }
  to_give_.assign(spaces, 0);
}

Status StepRunner::open() {
  if (program_.threads() > 1) {
    workers_ = std::make_unique<Workers>(program_.threads(),
                                         program_.uses_openmp() ? Workers::From::OpenMp : Workers::From::Own);
  }
  for (const BoundStep& step : steps_) {
    const auto* host = std::get_if<BoundHostStep>(&step);
    const bool is_emulated = std::holds_alternative<BoundLaunch>(step);  // where a device computes in this thread
    needs_openmp_.push_back(program_.uses_openmp() && (host != nullptr ? uses_openmp(*host) : is_emulated));
  }
  for (const StepQueue& described : program_.graph().queues) {
    Result<std::unique_ptr<DeviceQueue>> queue = program_.device(described.device).open_queue(described.kind);
    if (!queue) return queue.status();
    queues_.push_back(std::move(*queue));
  }
  clocks_.assign(queues_.size(), Duration());
  heads_.assign(queues_.size(), 0);
  return Status::ok();
}

Status StepRunner::on_threads(RangeFunction body, void* context) {
  const auto loop = [&] {
    return parallel_for_raw(program_.threads(), 1, program_.threads(), body, context, workers_.get());
  };
  return workers_ != nullptr ? workers_->lend(loop) : loop();
}

void StepRunner::start_run() {
  if (HostTurns* turns = program_.host_turns(); turns != nullptr) run_ = turns->begin_run();
  timeline_ = Timeline();
  wall_slots_.clear();
  std::fill(states_.begin(), states_.end(), State::Pending);
  std::fill(events_.begin(), events_.end(), nullptr);
  std::fill(tries_.begin(), tries_.end(), 0);
  for (size_t space = 0; space < in_arena_.size(); ++space) to_give_[space] = in_arena_[space].size();
}

Status StepRunner::run(const Observer& observer) {
  start_run();
  is_observed_ = static_cast<bool>(observer);
  Status status = Status::ok();
  do {
    device_failure_.reset();
    std::fill(heads_.begin(), heads_.end(), 0);
    try {
      status = run_steps(observer);
    } catch (const std::exception& exception) {  // no memory for what an operator needs
      status = Status::error(exception.what());
      device_failure_.reset();
    }
    if (!status && device_failure_) last_retried_ = status.message();
  } while (!status && prepare_retry());
  if (status) fill_timeline();
  if (status && is_part_) fill_wall_slots();
  if (!status && is_part_) {
    for (const StepQueue& queue : program_.graph().queues) program_.device(queue.device).innermost().abandon(status);
  }
  end_run();
  return status;
}

/// After a failure: what is done stays done, the rest is given again. False where that is no use, or not right.
bool StepRunner::prepare_retry() {
  if (!device_failure_ || is_part_) return false;
  const size_t failed = device_failure_->step;
  if (tries_[failed] >= program_.retries()) return false;
  for (const StepQueue& queue : program_.graph().queues) {
    if (program_.device(queue.device).is_lost()) return false;
  }
  for (const auto& queue : queues_) queue->reset();  // also waits, so that all events are reached
  for (size_t s = 0; s < states_.size(); ++s) {
    if (states_[s] != State::Given) continue;
    if (events_[s]->wait()) {
      (void)complete(s);
      continue;
    }
    device_failure_->needs_restart |= !is_repeatable(s);
    states_[s] = State::Pending;
    events_[s] = nullptr;
  }
  device_failure_->needs_restart |= !is_repeatable(failed);
  if (device_failure_->needs_restart) return false;
  return_to_arenas();
  ++tries_[failed];
  ++retries_;
  return true;
}

/// True if the step, begun and not finished, has what it reads still as it was.
bool StepRunner::is_repeatable(size_t step) const {
  if (replaced_[step]) return true;  // to memory of its own
  const auto overlap = [](const DeviceTensor& a, const DeviceTensor& b) {
    return a.address < b.address + b.tensor.bytes() && b.address < a.address + a.tensor.bytes();
  };
  if (const auto* reorder = std::get_if<BoundReorder>(&steps_[step])) return !overlap(reorder->source, reorder->target);
  const auto* launch = std::get_if<BoundLaunch>(&steps_[step]);
  if (launch == nullptr) return !std::holds_alternative<BoundHostStep>(steps_[step]);
  std::vector<const DeviceTensor*> read;
  std::set<BufferId> written;
  for (const DeviceOp& op : launch->ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i].is_absent && !written.contains(op.call->inputs[i])) read.push_back(&op.inputs[i]);
    }
    written.insert(op.call->outputs.begin(), op.call->outputs.end());
  }
  for (const DeviceOp& op : launch->ops) {
    for (const DeviceTensor& output : op.outputs) {
      const bool is_safe = output.is_absent || std::none_of(read.begin(), read.end(), [&](const DeviceTensor* input) {
                             return overlap(output, *input);
                           });
      if (!is_safe) return false;
    }
  }
  return true;
}

/// Workers are lent for as many steps as there are between those that use OpenMP by themselves.
Status StepRunner::run_steps(const Observer& observer) {
  for (size_t s = 0; s < steps_.size();) {
    const auto end =
        static_cast<size_t>(std::find(needs_openmp_.begin() + static_cast<ptrdiff_t>(s), needs_openmp_.end(), true) -
                            needs_openmp_.begin());
    const auto run_to = [&](size_t last) {
      Status status = Status::ok();
      for (; status && s < last; ++s) status = run_step(s, observer);
      return status;
    };
    Status status = Status::ok();
    if (workers_ != nullptr && s < end) {
      status = workers_->lend([&] { return run_to(end); });
    } else {
      status = run_to(s < end ? end : s + 1);
    }
    if (!status) return status;
  }
  for (size_t s = 0; s < steps_.size() && !queues_.empty(); ++s) {
    if (Status status = complete(s); !status) return status;
  }
  return Status::ok();
}

Status StepRunner::run_step(size_t s, const Observer& observer) {
  if (states_[s] == State::Done) return Status::ok();  // before a command was given again
  if (states_[s] == State::Pending && !touched_.empty()) {
    if (Status status = enter_arenas(s); !status) return status;
  }
  const bool is_timed = is_observed_ || is_part_ || program_.plan().is_concurrent;
  StepClock::time_point start = is_timed ? StepClock::now() : StepClock::time_point();
  if (node(s).queue < 0) {
    if (gives_ahead()) {
      if (Status status = give_ready(); !status) return status;
    }
    for (int before : node(s).after) {
      if (Status status = complete(static_cast<size_t>(before)); !status) return status;
    }
    const HostTurns::Turn turn(program_.host_turns(), run_);
    if (is_timed) start = StepClock::now();
    if (Status status = run_on_host(s); !status) return status;
  } else if (states_[s] == State::Pending) {
    if (Status status = give(s); !status) return status;
  }
  if (is_observed_) {
    if (Status status = complete(s); !status) return status;
  }
  if (is_timed) seconds_[s] = seconds_since(start);
  if (is_part_) starts_[s] = start;
  if (is_observed_) observer({s, seconds_[s], call_seconds_});
  return Status::ok();
}

/// Whether steps of queues are given before those of the host that stand before them.
bool StepRunner::gives_ahead() const {
  return (is_part_ || program_.plan().is_concurrent) && !is_observed_ && !queues_.empty();
}

/// Before the step is given or run: waits until its arenas are those of this run. What can be given meanwhile, is.
Status StepRunner::enter_arenas(size_t step) {
  if (turns_.try_enter(touched_[step])) return Status::ok();
  if (gives_ahead()) {
    if (Status status = give_ready(); !status) return status;
  }
  for (int space : touched_[step]) turns_.enter(space);
  return Status::ok();
}

/// After the step was given. The arena of the host is left at the end of the run: the host has to learn that copies to
/// it are done.
void StepRunner::leave_arenas(size_t step) {
  for (int space : touched_[step]) {
    const auto at = static_cast<size_t>(space);
    if (--to_give_[at] > 0 || space == 0 || is_observed_) continue;
    std::map<int, EventRef> last;  // by queue
    for (int one : in_arena_[at]) last[node(static_cast<size_t>(one)).queue] = events_[static_cast<size_t>(one)];
    std::vector<EventRef> events;
    for (auto& [queue, event] : last) events.push_back(std::move(event));
    turns_.leave(space, std::move(events));
  }
}

/// Before steps are given again. Nobody else is in an arena that they touch: the event of the last step there has the
/// failure.
void StepRunner::return_to_arenas() {
  for (size_t space = 0; space < in_arena_.size(); ++space) {
    if (!turns_.has(static_cast<int>(space))) continue;
    to_give_[space] =
        static_cast<size_t>(std::count_if(in_arena_[space].begin(), in_arena_[space].end(), [&](int step) {
          return states_[static_cast<size_t>(step)] == State::Pending;
        }));
    if (to_give_[space] > 0) turns_.return_to(static_cast<int>(space));
  }
}

Status StepRunner::run_on_host(size_t step) {
  call_seconds_.clear();
  const auto& bound = std::get<BoundHostStep>(steps_[step]);
  Workers* workers = needs_openmp_[step] ? nullptr : workers_.get();
  Status status = run_host_step(bound, {program_.threads(), workers}, is_observed_ ? &call_seconds_ : nullptr);
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
  const std::optional<BoundReorder>& moved = replaced_[step];
  Status given =
      moved ? queue.reorder(moved->source, moved->target, moved->duration) : std::visit(Giver{queue}, steps_[step]);
  if (!given) return blame(step, given);
  events_[step] = queue.record();
  states_[step] = State::Given;
  if (!touched_.empty()) leave_arenas(step);
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

bool StepRunner::can_give(size_t step) {
  if (const int host = node(step).after_host; host >= 0 && states_[static_cast<size_t>(host)] != State::Done) {
    return false;
  }
  const bool waits_here = queues_[static_cast<size_t>(node(step).queue)]->waits_in_caller();
  const bool is_ready = std::all_of(node(step).after.begin(), node(step).after.end(), [&](int earlier) {
    const auto before = static_cast<size_t>(earlier);
    if (states_[before] == State::Done) return true;
    const bool is_given = states_[before] == State::Given;
    return is_given && ((!waits_here && !needs_host(step, before)) || events_[before]->is_reached());
  });
  return is_ready && (touched_.empty() || turns_.try_enter(touched_[step]));
}

Status StepRunner::complete(size_t step) {
  if (states_[step] == State::Done) return Status::ok();
  if (Status status = events_[step]->wait(); !status) return blame(step, status);
  if (node(step).ends_on_host && !replaced_[step]) take_from_staging(std::get<BoundCopyOut>(steps_[step]));
  states_[step] = State::Done;
  count_bytes(step);
  return Status::ok();
}

void StepRunner::count_bytes(size_t step) {
  if (replaced_[step]) return;
  if (const auto* in = std::get_if<BoundCopyIn>(&steps_[step]); in != nullptr && !is_empty(*in->to)) {
    link_bytes_.to_devices += in->to->tensor.bytes();
  }
  if (const auto* out = std::get_if<BoundCopyOut>(&steps_[step]); out != nullptr && !is_empty(*out->from)) {
    link_bytes_.from_devices += out->from->tensor.bytes();
  }
  if (const auto* peer = std::get_if<BoundCopyPeer>(&steps_[step])) link_bytes_.between_devices += peer->bytes;
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

void StepRunner::fill_timeline() {
  const std::vector<StepQueue>& queues = program_.graph().queues;
  for (size_t q = 0; q < queues.size(); ++q) {
    Duration clock = clocks_[q];
    for (int step : queues[q].steps) {
      const auto s = static_cast<size_t>(step);
      tasks_[s].length = events_[s]->clock() - clock;
      clock = events_[s]->clock();
    }
  }
  const bool is_timed = is_observed_ || is_part_ || program_.plan().is_concurrent;
  for (size_t s = 0; s < steps_.size(); ++s) {
    const bool has_clock = node(s).queue >= 0 && (program_.is_simulated(s) || !is_observed_);
    if (!has_clock) tasks_[s].length = Duration::seconds(is_timed ? seconds_[s] : 0);
    timeline_.add(tasks_[s]);
  }
}

void StepRunner::fill_wall_slots() {
  const auto time_of = [](double seconds) {
    return std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds));
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (node(s).queue < 0) {
      wall_slots_.push_back({starts_[s], starts_[s] + time_of(seconds_[s])});
    } else {
      const WallTime end = events_[s]->reached_at();
      wall_slots_.push_back({end - time_of(tasks_[s].length.seconds()), end});
    }
  }
}

/// The first step whose event has a failure: what waited for it has the same one.
Status StepRunner::blame(size_t step, const Status& failure) {
  Status first = failure;
  for (size_t s = 0; s < events_.size(); ++s) {
    if (events_[s] == nullptr || !events_[s]->is_reached()) continue;
    if (Status status = events_[s]->wait(); !status) {
      first = status;
      step = s;
      break;
    }
  }
  device_failure_ = DeviceFailure{step, describe(program_.plan(), step)};
  return Status::error(device_failure_->what + ": " + first.message());
}

}  // namespace collage::runtime
