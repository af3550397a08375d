// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/schedule.h"

#include <algorithm>
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

/// The tasks of each stage of a pipeline: one that waits for a task on another resource belongs to a later stage.
std::vector<std::vector<int>> tasks_of_stages(const std::vector<Task>& tasks) {
  std::vector<int> stage(tasks.size());
  std::vector<std::vector<int>> of_stage(1);
  for (size_t t = 0; t < tasks.size(); ++t) {
    for (int before : tasks[t].after) {
      const bool in_turn = tasks[at(before)].resources == tasks[t].resources;
      stage[t] = std::max(stage[t], stage[at(before)] + (in_turn ? 0 : 1));
    }
    if (of_stage.size() <= at(stage[t])) of_stage.resize(at(stage[t]) + 1);
    of_stage[at(stage[t])].push_back(static_cast<int>(t));
  }
  return of_stage;
}

/// Those that no other waits for.
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

Stream run_stream(const std::vector<Task>& tasks, int inputs, int in_flight) {
  const std::vector<std::vector<int>> of_stage = tasks_of_stages(tasks);
  Stream stream{{}, static_cast<int>(of_stage.size())};
  // Where fewer are in flight than there are stages, the next begin when as many have ended.
  const int together = in_flight > 0 ? std::min(in_flight, stream.stages) : stream.stages;
  const auto first_round = [&](int input) { return input / together * stream.stages + input % together; };
  const std::vector<int> last = last_tasks(tasks);
  Timeline timeline;
  std::vector<std::vector<int>> placed(at(inputs), std::vector<int>(tasks.size(), -1));
  const auto issue = [&](int t, int input) {
    Task task{tasks[at(t)].length, tasks[at(t)].resources, {}};
    for (int before : tasks[at(t)].after) task.after.push_back(placed[at(input)][at(before)]);
    if (in_flight > 0 && input >= in_flight && task.after.empty()) {
      for (int before : last) task.after.push_back(placed[at(input - in_flight)][at(before)]);
    }
    placed[at(input)][at(t)] = static_cast<int>(timeline.slots().size());
    timeline.add(task);
  };
  int oldest = 0;  // whose last stage is to be issued
  for (int round = 0; oldest < inputs; ++round) {
    for (int input = oldest; input < inputs && first_round(input) <= round; ++input) {
      for (int t : of_stage[at(round - first_round(input))]) issue(t, input);
    }
    if (first_round(oldest) + stream.stages - 1 == round) ++oldest;
  }
  for (const std::vector<int>& of_input : placed) {
    std::vector<Slot>& slots = stream.slots.emplace_back();
    for (int index : of_input) slots.push_back(timeline.slots()[at(index)]);
  }
  return stream;
}

Duration stream_period(const std::vector<Task>& tasks) {
  constexpr int kRounds = 64;  // simulated; the first half is warm-up
  const std::vector<std::vector<int>> of_stage = tasks_of_stages(tasks);
  const auto stages = static_cast<int>(of_stage.size());
  // Only the rounds in which all stages are full count.
  const int inputs = stages + kRounds;
  Timeline timeline;
  std::vector<std::vector<int>> placed(tasks.size(), std::vector<int>(at(inputs), -1));
  std::vector<Duration> round_end;
  int count = 0;
  for (int round = 0; round < inputs; ++round) {
    for (int s = std::min(round, stages - 1); s >= 0; --s) {
      const int input = round - s;
      for (int t : of_stage[at(s)]) {
        Task task{tasks[at(t)].length, tasks[at(t)].resources, {}};
        for (int before : tasks[at(t)].after) task.after.push_back(placed[at(before)][at(input)]);
        timeline.add(task);
        placed[at(t)][at(input)] = count++;
      }
    }
    round_end.push_back(timeline.makespan());
  }
  constexpr int kCounted = kRounds / 2;
  const Duration counted = round_end.back() - round_end[round_end.size() - 1 - kCounted];
  Duration period = Duration::picoseconds((counted.ps() + kCounted - 1) / kCounted);
  for (Duration busy : busy_times(tasks)) period = std::max(period, busy);
  return period;
}

}  // namespace collage::runtime
