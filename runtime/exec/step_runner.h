// SPDX-License-Identifier: Apache-2.0
// Runs bound steps, each as soon as what it needs is there: the host's in the calling thread and its pool, those of
// devices on the queues of this execution. The host waits for a device only where a step of its own needs the result,
// and at the end of the run.
//
// Steps are given in plan order. In a concurrent plan the next step of each queue is given as soon as the steps before
// it on the host are done, so that a host step which waits holds up nothing else: the order within a queue stays the
// plan's, as in the event model (core/schedule.h).
//
// A command of a device that failed is given again, up to Program::retries() times for each step, where nothing of what
// it reads can have been overwritten:
//
//     0 copy in   1 launch: fails   2 copy out: has that failure, too   =>   queues reset; 1, 2 given again
//
// An arena that is used in turn with other executions (arenas.h) is entered before the first step that touches it is
// given, and left with the last one: the next run waits for the events of the last steps there. The arena of the
// host, and each one while steps are observed, is left at the end of the run.
//
// In a part of a plan for several hosts, steps of queues are always given as soon as they can be, so that what other
// hosts send finds its place ready, and a failure is final: hosts that wait for this one get a message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/schedule.h"
#include "runtime/exec/bound_steps.h"
#include "runtime/pool/workers.h"

namespace collage::runtime {

/// Called after each step with the plan's buffers readable (host copies are made on demand).
struct StepReport {
  size_t step = 0;
  double host_seconds = 0;           ///< wall time that the host spent in it
  std::vector<double> call_seconds;  ///< of a host step: of each call
};

/// Bytes that runs have moved over the links of devices.
struct LinkBytes {
  size_t to_devices = 0, from_devices = 0, between_devices = 0;

  size_t all() const { return to_devices + from_devices + between_devices; }
};

/// When a step ran, by the steady clock of this machine.
struct WallSlot {
  WallTime start, finish;
};

/// What went wrong in a run, where a device had a part in it.
struct DeviceFailure {
  size_t step = 0;
  std::string what;            ///< the step as a user knows it: the partition, or the value that is moved
  bool needs_restart = false;  ///< the command cannot be given again: what it reads may be overwritten
};

class StepRunner {
 public:
  using Observer = std::function<void(const StepReport&)>;

  /// All three outlive it. A run expects that its turns were begun.
  StepRunner(const Program& program, const std::vector<BoundStep>& steps, ArenaTurns& turns);
  /// Opens the queues and starts threads; before the first run.
  Status open();

  /// With an observer each step is done before the next one starts. The failure names the step.
  Status run(const Observer& observer);
  /// The failure of the last run, if a command of a device caused it.
  const std::optional<DeviceFailure>& device_failure() const { return device_failure_; }
  /// Commands that were given again, in all runs.
  size_t retries() const { return retries_; }
  /// The failure that was answered last by giving the command again; empty: none.
  const std::string& last_retried() const { return last_retried_; }
  /// Bytes over links in all runs; commands that failed do not count.
  const LinkBytes& link_bytes() const { return link_bytes_; }
  /// Calls the body on the threads that run the loops of kernels, as parallel_for does with one part for each of them.
  Status on_threads(RangeFunction body, void* context);
  /// In place of what the plan says, a step of a queue moves bytes inside its device; nullopt: as planned.
  void replace(size_t step, std::optional<BoundReorder> by) { replaced_[step] = std::move(by); }
  /// The timeline of the last run, if it did not fail: in sequence, or overlapping if the plan is concurrent. Steps of
  /// a device take time of its clock. Steps of the host take wall time, which is measured if the plan is concurrent,
  /// observed, or a part for one host of a cluster; otherwise it is 0.
  const Timeline& timeline() const { return timeline_; }
  /// Wall times of the last run, if it did not fail, by step; empty unless the plan is a part for one host of a
  /// cluster. A copy from or to another host lasts from when both it was given and the one before it was done until its
  /// bytes are there.
  const std::vector<WallSlot>& wall_slots() const { return wall_slots_; }
  /// Simulated time of all runs, summed over devices and links, as if no other execution used them.
  Duration device_time() const { return device_time_; }

 private:
  enum class State : char { Pending, Given, Done };

  const StepNode& node(size_t step) const { return program_.graph().nodes[step]; }
  void start_run();
  Status run_steps(const Observer& observer);
  Status run_step(size_t step, const Observer& observer);
  bool prepare_retry();
  bool gives_ahead() const;
  bool is_repeatable(size_t step) const;
  void count_bytes(size_t step);
  Status run_on_host(size_t step);
  Status enter_arenas(size_t step);
  void leave_arenas(size_t step);
  void return_to_arenas();
  Status give(size_t step);
  Status give_ready();
  bool can_give(size_t step);
  /// True if the host must know that `before` is done, and do its part of it, before it can give the step.
  bool needs_host(size_t step, size_t before) const {
    return node(step).starts_on_host || (node(before).ends_on_host && node(step).uses_host);
  }
  Status complete(size_t step);
  void end_run();
  void fill_timeline();
  void fill_wall_slots();
  Status blame(size_t step, const Status& failure);

  const Program& program_;
  const std::vector<BoundStep>& steps_;
  ArenaTurns& turns_;
  const bool is_part_;                ///< of a plan for several hosts
  uint64_t run_ = 0;                  ///< its number in Program::host_turns
  std::unique_ptr<Workers> workers_;  ///< null: one thread
  std::vector<bool> needs_openmp_;    ///< by step: it opens parallel regions of OpenMP by itself
  std::vector<std::unique_ptr<DeviceQueue>> queues_;
  std::vector<Duration> clocks_;            ///< by queue, at the end of the last run
  std::vector<Task> tasks_;                 ///< by step; their lengths are of the last run
  std::vector<State> states_;               ///< by step
  std::vector<std::vector<int>> touched_;   ///< by step: spaces whose arenas are used in turn; empty: there are none
  std::vector<std::vector<int>> in_arena_;  ///< by space: steps that touch such an arena
  std::vector<size_t> to_give_;             ///< by space: of these, those that were not given yet
  bool is_observed_ = false;                ///< the run
  std::vector<EventRef> events_;            ///< by step; null: on the host
  std::vector<size_t> heads_;               ///< by queue: index of its first step that may not be given yet
  std::vector<double> seconds_;             ///< by step: wall time of the host
  std::vector<double> call_seconds_;        ///< of the host step that runs, if it is observed
  std::vector<WallTime> starts_;            ///< by step: when the host began it
  std::vector<WallSlot> wall_slots_;
  std::vector<std::optional<BoundReorder>> replaced_;  ///< by step
  std::vector<int> tries_;                             ///< by step: of this run, after the first
  std::optional<DeviceFailure> device_failure_;
  size_t retries_ = 0;
  std::string last_retried_;
  LinkBytes link_bytes_;
  Timeline timeline_;
  Duration device_time_;
};

}  // namespace collage::runtime
