// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace collage::runtime {
namespace {

size_t at(int index) {
  return static_cast<size_t>(index);
}

Duration sum(Duration a, Duration b) {
  return a < Duration::max() - b ? a + b : Duration::max();
}

Duration free_at(const std::vector<Duration>& free, const Task& task) {
  Duration time;
  for (int resource : task.resources) {
    if (at(resource) < free.size()) time = std::max(time, free[at(resource)]);
  }
  return time;
}

std::vector<int> list_order(const std::vector<Task>& tasks) {
  const std::vector<Duration> tail = tails(tasks);
  std::vector<std::vector<int>> next(tasks.size());
  std::vector<size_t> waits(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    waits[t] = tasks[t].after.size();
    for (int before : tasks[t].after) next[at(before)].push_back(static_cast<int>(t));
  }
  std::vector<Duration> ready_at(tasks.size());
  std::vector<int> ready, order;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (waits[t] == 0) ready.push_back(static_cast<int>(t));
  }
  std::vector<Duration> free;
  while (!ready.empty()) {
    const auto start = [&](int t) { return std::max(ready_at[at(t)], free_at(free, tasks[at(t)])); };
    const auto best = std::min_element(ready.begin(), ready.end(), [&](int a, int b) {
      const Duration x = start(a), y = start(b);
      if (x != y) return x < y;
      return tail[at(a)] != tail[at(b)] ? tail[at(a)] > tail[at(b)] : a < b;
    });
    const int t = *best;
    const Duration finish = sum(start(t), tasks[at(t)].length);
    ready.erase(best);
    order.push_back(t);
    for (int resource : tasks[at(t)].resources) {
      if (free.size() <= at(resource)) free.resize(at(resource) + 1);
      free[at(resource)] = finish;
    }
    for (int reader : next[at(t)]) {
      ready_at[at(reader)] = std::max(ready_at[at(reader)], finish);
      if (--waits[at(reader)] == 0) ready.push_back(reader);
    }
  }
  return order;
}

/// The stage of each task in a pipeline: one that waits for a task on another resource belongs to a later stage.
/// `is_late`: to the last one that keeps those which wait for it where they are.
std::vector<int> stages_of(const std::vector<Task>& tasks, bool is_late) {
  const auto step = [&](size_t before, size_t task) {
    return tasks[before].resources == tasks[task].resources ? 0 : 1;
  };
  std::vector<int> stage(tasks.size());
  for (size_t t = 0; t < tasks.size(); ++t) {
    for (int before : tasks[t].after) stage[t] = std::max(stage[t], stage[at(before)] + step(at(before), t));
  }
  if (!is_late) return stage;
  constexpr int kNone = std::numeric_limits<int>::max();
  std::vector<int> latest(tasks.size(), kNone);
  for (size_t t = tasks.size(); t-- > 0;) {
    if (latest[t] == kNone) latest[t] = stage[t];
    for (int before : tasks[t].after)
      latest[at(before)] = std::min(latest[at(before)], latest[t] - step(at(before), t));
  }
  return latest;
}

std::vector<std::vector<int>> tasks_of_stages(const std::vector<int>& stages) {
  std::vector<std::vector<int>> of_stage(1);
  for (size_t t = 0; t < stages.size(); ++t) {
    if (of_stage.size() <= at(stages[t])) of_stage.resize(at(stages[t]) + 1);
    of_stage[at(stages[t])].push_back(static_cast<int>(t));
  }
  return of_stage;
}

/// The tasks that no other task waits for.
std::vector<int> last_tasks(const std::vector<Task>& tasks) {
  std::vector<bool> is_last(tasks.size(), true);
  for (const Task& task : tasks) {
    for (int before : task.after) is_last[at(before)] = false;
  }
  std::vector<int> last;
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (is_last[t]) last.push_back(static_cast<int>(t));
  }
  return last;
}

/// Issues inputs of a stream, round by round.
class StreamIssuer {
 public:
  /// At most `inputs`.
  StreamIssuer(const std::vector<Task>& tasks, int inputs, const StreamLimits& limits)
      : tasks_(tasks),
        limits_(limits),
        inputs_(inputs),
        stage_(stages_of(tasks, !limits.rooms.empty())),
        of_stage_(tasks_of_stages(stage_)),
        last_(last_tasks(tasks)),
        entered_(tasks.size()) {
    for (const StreamRoom& room : limits.rooms) add_room(room);
  }

  int stages() const { return static_cast<int>(of_stage_.size()); }
  bool is_done() const { return oldest_ == inputs_; }
  const Timeline& timeline() const { return timeline_; }

  /// The next stage of each input that has been begun, and the first of one more.
  void round() {
    const int before = oldest_;  // all earlier ones were finished in rounds before
    for (int input = oldest_; input <= begun_ && input < inputs_; ++input) {
      if (input == begun_) {
        if (limits_.in_flight > 0 && input - limits_.in_flight >= before) break;
        if (input > 0 && next_stage_[at(input) - 1] == 0) break;
        ++begun_;
        next_stage_.push_back(0);
        placed_.emplace_back(tasks_.size(), -1);
        issue_stage(input);
        break;
      }
      issue_stage(input);
    }
    while (oldest_ < begun_ && next_stage_[at(oldest_)] == stages()) ++oldest_;
  }

  std::vector<std::vector<Slot>> slots() const {
    std::vector<std::vector<Slot>> result;
    for (const std::vector<int>& of_input : placed_) {
      std::vector<Slot>& slots = result.emplace_back();
      for (int index : of_input) slots.push_back(timeline_.slots()[at(index)]);
    }
    return result;
  }

 private:
  struct Room {
    int inputs = 1;
    int in_turn = 0;
    int last_stage = 0;
    std::vector<int> leaving;  ///< tasks after which nothing of the input is there

    /// The input that had the same place before; negative: none.
    int before(int input) const {
      const int number = in_turn > 0 ? input % in_turn : inputs;
      if (number >= inputs) return input - inputs;
      const int last = number + (in_turn - 1 - number) / inputs * inputs;  // of those before
      return input - number - in_turn + last;
    }
  };

  void add_room(const StreamRoom& given) {
    std::vector<bool> is_in(tasks_.size()), is_left(tasks_.size());
    for (int t : given.tasks) is_in[at(t)] = true;
    Room room;
    room.inputs = std::max(given.inputs, 1);
    room.in_turn = given.in_turn;
    for (int t : given.tasks) {
      bool is_first = true;
      for (int before : tasks_[at(t)].after) {
        if (!is_in[at(before)]) continue;
        is_first = false;
        is_left[at(before)] = true;
      }
      if (is_first) entered_[at(t)].push_back(static_cast<int>(rooms_.size()));
      room.last_stage = std::max(room.last_stage, stage_[at(t)]);
    }
    for (int t : given.tasks) {
      if (!is_left[at(t)]) room.leaving.push_back(t);
    }
    rooms_.push_back(std::move(room));
  }

  /// Nothing where there is no place for the input, or the one before it is no further.
  void issue_stage(int input) {
    int& stage = next_stage_[at(input)];
    if (stage == stages() || (input > 0 && stage >= next_stage_[at(input) - 1])) return;
    for (int t : of_stage_[at(stage)]) {
      for (int r : entered_[at(t)]) {
        const Room& room = rooms_[at(r)];
        const int before = room.before(input);
        if (before >= 0 && next_stage_[at(before)] <= room.last_stage) return;
      }
    }
    for (int t : of_stage_[at(stage)]) issue(t, input);
    ++stage;
  }

  void issue(int t, int input) {
    Task task{tasks_[at(t)].length, tasks_[at(t)].resources, {}};
    const auto wait_for = [&](int other, int before) { task.after.push_back(placed_[at(other)][at(before)]); };
    for (int before : tasks_[at(t)].after) wait_for(input, before);
    if (limits_.in_flight > 0 && input >= limits_.in_flight && task.after.empty()) {
      for (int before : last_) wait_for(input - limits_.in_flight, before);
    }
    for (int r : entered_[at(t)]) {
      const Room& room = rooms_[at(r)];
      const int other = room.before(input);
      if (other < 0) continue;
      for (int before : room.leaving) wait_for(other, before);
    }
    placed_[at(input)][at(t)] = static_cast<int>(timeline_.slots().size());
    timeline_.add(task);
  }

  const std::vector<Task>& tasks_;
  const StreamLimits& limits_;
  int inputs_;
  std::vector<int> stage_;  ///< by task
  std::vector<std::vector<int>> of_stage_;
  std::vector<int> last_;
  std::vector<Room> rooms_;
  std::vector<std::vector<int>> entered_;  ///< by task: rooms in which it may be the first
  Timeline timeline_;
  int oldest_ = 0;                        ///< input that is not finished
  int begun_ = 0;                         ///< inputs
  std::vector<int> next_stage_;           ///< by input that was begun
  std::vector<std::vector<int>> placed_;  ///< by input that was begun, by task: its place in the timeline
};

}  // namespace

const Slot& Timeline::add(const Task& task) {
  Duration start;
  for (int before : task.after) start = std::max(start, slots_[at(before)].finish);
  start = std::max(start, free_at(free_, task));
  slots_.push_back({start, sum(start, task.length)});
  for (int resource : task.resources) {
    if (free_.size() <= at(resource)) free_.resize(at(resource) + 1);
    free_[at(resource)] = slots_.back().finish;
  }
  makespan_ = std::max(makespan_, slots_.back().finish);
  return slots_.back();
}

Duration makespan(const std::vector<Task>& tasks) {
  Timeline timeline;
  for (const Task& task : tasks) timeline.add(task);
  return timeline.makespan();
}

std::vector<Duration> busy_times(const std::vector<Task>& tasks) {
  std::vector<Duration> busy;
  for (const Task& task : tasks) {
    for (int resource : task.resources) {
      if (busy.size() <= at(resource)) busy.resize(at(resource) + 1);
      busy[at(resource)] = sum(busy[at(resource)], task.length);
    }
  }
  return busy;
}

std::vector<Duration> tails(const std::vector<Task>& tasks) {
  std::vector<Duration> tail(tasks.size());
  for (size_t t = tasks.size(); t-- > 0;) {
    tail[t] = sum(tail[t], tasks[t].length);
    for (int before : tasks[t].after) tail[at(before)] = std::max(tail[at(before)], tail[t]);
  }
  return tail;
}

std::vector<int> good_order(const std::vector<Task>& tasks) {
  std::vector<int> given(tasks.size());
  std::iota(given.begin(), given.end(), 0);
  std::vector<int> listed = list_order(tasks);
  return makespan(reordered(tasks, listed)) < makespan(tasks) ? listed : given;
}

std::vector<Task> reordered(const std::vector<Task>& tasks, const std::vector<int>& order) {
  std::vector<int> place(tasks.size());
  for (size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  std::vector<Task> result;
  for (int t : order) {
    Task task = tasks[at(t)];
    for (int& before : task.after) before = place[at(before)];
    result.push_back(std::move(task));
  }
  return result;
}

Stream run_stream(const std::vector<Task>& tasks, int inputs, const StreamLimits& limits) {
  StreamIssuer issuer(tasks, inputs, limits);
  while (!issuer.is_done()) issuer.round();
  return {issuer.slots(), issuer.stages()};
}

std::vector<int> rounds_in_rooms(const std::vector<Task>& tasks, const std::vector<StreamRoom>& rooms) {
  const std::vector<int> stages = stages_of(tasks, !rooms.empty());
  std::vector<int> rounds;
  for (const StreamRoom& room : rooms) {
    int first = std::numeric_limits<int>::max(), last = -1;
    for (int t : room.tasks) {
      first = std::min(first, stages[at(t)]);
      last = std::max(last, stages[at(t)]);
    }
    rounds.push_back(last < 0 ? 0 : last - first + 1);
  }
  return rounds;
}

Duration stream_period(const std::vector<Task>& tasks) {
  constexpr int kRounds = 64;  // simulated; the first half is warm-up
  const StreamLimits limits;
  StreamIssuer issuer(tasks, std::numeric_limits<int>::max(), limits);
  // Only the rounds in which all stages are full count.
  std::vector<Duration> round_end;
  for (int round = 0; round < issuer.stages() + kRounds; ++round) {
    issuer.round();
    round_end.push_back(issuer.timeline().makespan());
  }
  constexpr int kCounted = kRounds / 2;
  const Duration counted = round_end.back() - round_end[round_end.size() - 1 - kCounted];
  Duration period = Duration::picoseconds((counted.ps() + kCounted - 1) / kCounted);
  for (Duration busy : busy_times(tasks)) period = std::max(period, busy);
  return period;
}

}  // namespace collage::runtime
