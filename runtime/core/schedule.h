// SPDX-License-Identifier: Apache-2.0
// The event model of a machine that does several things at once. The runtime's clock and the compiler's prediction are
// this one function, so that they cannot disagree.
//
// A task starts when all tasks it waits for have finished and all its resources are free. Each resource serves its
// tasks one at a time in the order of the list, like a queue of commands:
//
//     copy in  [0 aaaa 4][4 bbbb 8]
//     compute            [4 AAAAAA 10][10 BB 12]
#pragma once

#include <vector>

#include "runtime/core/duration.h"

namespace collage::runtime {

struct Task {
  Duration length;
  std::vector<int> resources{};  ///< held from start to finish, all of them
  std::vector<int> after{};      ///< earlier tasks
};

struct Slot {
  Duration start;
  Duration finish;

  friend bool operator==(const Slot&, const Slot&) = default;
};

/// The model as it runs: tasks are added in order.
class Timeline {
 public:
  /// Saturates at Duration::max().
  const Slot& add(const Task& task);
  const std::vector<Slot>& slots() const { return slots_; }
  Duration makespan() const { return makespan_; }

 private:
  std::vector<Slot> slots_;
  std::vector<Duration> free_;  ///< by resource
  Duration makespan_;
};

Duration makespan(const std::vector<Task>& tasks);

/// How long each resource is busy.
std::vector<Duration> busy_times(const std::vector<Task>& tasks);

/// From each task's start to the end of all that waits for it, were there no resources.
std::vector<Duration> tails(const std::vector<Task>& tasks);

/// An order in which the tasks may be added: at each time, of those that could start first, the one with the longest
/// tail; the order given where that has the smaller makespan, and wherever ties leave a choice.
std::vector<int> good_order(const std::vector<Task>& tasks);

/// The tasks in that order; `after` is renumbered.
std::vector<Task> reordered(const std::vector<Task>& tasks, const std::vector<int>& order);

/// Inputs that follow each other, each by the same tasks.
struct Stream {
  std::vector<std::vector<Slot>> slots{};  ///< by input, by task
  int stages = 1;                          ///< as many inputs as it takes to keep all resources at work
};

/// A memory that holds what its tasks make and need, of a few inputs at once. An input takes its place there when the
/// first of these tasks starts, and leaves it when the last one ends.
struct StreamRoom {
  std::vector<int> tasks;  ///< ascending
  int inputs = 1;          ///< at least 1
  /// Number i of so many successive inputs has place i mod `inputs`, and so again for the next ones; 0: each input has
  /// the place of the one `inputs` before it.
  int in_turn = 0;
};

struct StreamLimits {
  int in_flight = 0;  ///< inputs begun and not finished at any time; 0: any number
  std::vector<StreamRoom> rooms{};
};

/// Runs so many inputs. Commands are issued like a pipeline: a task that waits for one on another resource belongs to
/// the next stage, and a round issues stage s of input k-s for all s, but of an input for which there is no place yet.
/// Inputs take places in their order, so that none waits for a later one. Where there are rooms, tasks belong to the
/// last stage that delays none which waits for them: what is made early takes a place early.
Stream run_stream(const std::vector<Task>& tasks, int inputs, const StreamLimits& limits = {});

/// Rounds for which an input has a place in each room: with as many places no input ever waits for one.
std::vector<int> rounds_in_rooms(const std::vector<Task>& tasks, const std::vector<StreamRoom>& rooms);

/// Time per input where inputs follow each other without end, as `run_stream` issues them. Where every task has one
/// resource this is the greatest busy time; a task that needs several at once can take more.
Duration stream_period(const std::vector<Task>& tasks);

}  // namespace collage::runtime
