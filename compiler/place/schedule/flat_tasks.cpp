// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/flat_tasks.h"

#include <algorithm>

namespace collage::place {

using runtime::Duration;

namespace {

size_t slot_of(int index) {
  return static_cast<size_t>(index);
}

Duration saturated(Duration a, Duration b) {
  return a < Duration::max() - b ? a + b : Duration::max();
}

}  // namespace

void FlatTasks::clear() {
  length_.clear();
  resources_.clear();
  after_.clear();
  after_end_.clear();
}

void FlatTasks::begin_task(Duration length, const std::vector<int>& resources) {
  if (!length_.empty()) end_task();
  length_.push_back(length);
  resources_.push_back(&resources);
}

void FlatTasks::end_task() {
  if (after_end_.size() < length_.size()) after_end_.push_back(static_cast<int>(after_.size()));
}

Duration FlatTasks::makespan() {
  if (length_.empty()) return {};
  end_task();
  return std::min(in_given_order(), in_listed_order());
}

Duration FlatTasks::busiest() {
  std::fill(free_.begin(), free_.end(), Duration());
  Duration most;
  for (size_t t = 0; t < size(); ++t) {
    for (int r : *resources_[t]) {
      free_[slot_of(r)] = saturated(free_[slot_of(r)], length_[t]);
      most = std::max(most, free_[slot_of(r)]);
    }
  }
  return most;
}

Duration FlatTasks::total() const {
  Duration all;
  for (Duration length : length_) all = saturated(all, length);
  return all;
}

Duration FlatTasks::free_at(int task) const {
  Duration time;
  for (int r : *resources_[slot_of(task)]) time = std::max(time, free_[slot_of(r)]);
  return time;
}

void FlatTasks::hold(int task, Duration until) {
  for (int r : *resources_[slot_of(task)]) free_[slot_of(r)] = until;
}

Duration FlatTasks::in_given_order() {
  std::fill(free_.begin(), free_.end(), Duration());
  finish_.resize(size());
  Duration end;
  for (size_t t = 0; t < size(); ++t) {
    const int task = static_cast<int>(t);
    Duration start = free_at(task);
    for (int i = after_begin(t); i < after_end_[t]; ++i) {
      start = std::max(start, finish_[slot_of(after_[slot_of(i)])]);
    }
    finish_[t] = saturated(start, length_[t]);
    hold(task, finish_[t]);
    end = std::max(end, finish_[t]);
  }
  return end;
}

void FlatTasks::find_tails() {
  tail_.assign(size(), Duration());
  for (size_t t = size(); t-- > 0;) {
    tail_[t] = saturated(tail_[t], length_[t]);
    for (int i = after_begin(t); i < after_end_[t]; ++i) {
      Duration& before = tail_[slot_of(after_[slot_of(i)])];
      before = std::max(before, tail_[t]);
    }
  }
}

/// What waits for each task: `next_[next_begin_[t] … next_begin_[t + 1])`.
void FlatTasks::find_next() {
  next_begin_.assign(size() + 2, 0);
  for (int before : after_) ++next_begin_[slot_of(before) + 2];
  for (size_t t = 2; t < next_begin_.size(); ++t) next_begin_[t] += next_begin_[t - 1];
  next_.resize(after_.size());
  waits_.resize(size());
  for (size_t t = 0; t < size(); ++t) {
    waits_[t] = after_end_[t] - after_begin(t);
    for (int i = after_begin(t); i < after_end_[t]; ++i) {
      next_[slot_of(next_begin_[slot_of(after_[slot_of(i)]) + 1]++)] = static_cast<int>(t);
    }
  }
}

Duration FlatTasks::in_listed_order() {
  find_tails();
  find_next();
  std::fill(free_.begin(), free_.end(), Duration());
  finish_.assign(size(), Duration());  // of what a task waits for, until it is placed
  ready_.clear();
  for (size_t t = 0; t < size(); ++t) {
    if (waits_[t] == 0) ready_.push_back(static_cast<int>(t));
  }
  Duration end;
  while (!ready_.empty()) {
    size_t best = 0;
    Duration best_start = Duration::max();
    for (size_t i = 0; i < ready_.size(); ++i) {
      const int t = ready_[i], b = ready_[best];
      const Duration start = std::max(finish_[slot_of(t)], free_at(t));
      const bool is_better = i == 0 || start < best_start ||
                             (start == best_start && (tail_[slot_of(t)] > tail_[slot_of(b)] ||
                                                      (tail_[slot_of(t)] == tail_[slot_of(b)] && t < b)));
      if (!is_better) continue;
      best = i;
      best_start = start;
    }
    const int t = ready_[best];
    ready_[best] = ready_.back();
    ready_.pop_back();
    const Duration finish = saturated(best_start, length_[slot_of(t)]);
    hold(t, finish);
    end = std::max(end, finish);
    for (int i = next_begin_[slot_of(t)]; i < next_begin_[slot_of(t) + 1]; ++i) {
      const size_t reader = slot_of(next_[slot_of(i)]);
      finish_[reader] = std::max(finish_[reader], finish);
      if (--waits_[reader] == 0) ready_.push_back(static_cast<int>(reader));
    }
  }
  return end;
}

}  // namespace collage::place
