// SPDX-License-Identifier: Apache-2.0
// The tasks of one placement in flat arrays that the next placement uses again, for searches that schedule many
// thousands of placements. Times are those of the event model (runtime/core/schedule.h).
#pragma once

#include <vector>

#include "runtime/core/duration.h"

namespace collage::place {

class FlatTasks {
 public:
  explicit FlatTasks(size_t resource_count) : free_(resource_count) {}

  void clear();
  /// `resources` must stay as long as the tasks.
  void begin_task(runtime::Duration length, const std::vector<int>& resources);
  /// The task begun last waits for an earlier one; twice does no harm.
  void wait_for(int before) { after_.push_back(before); }
  size_t size() const { return length_.size(); }

  /// As `makespan(reordered(tasks, good_order(tasks)))`.
  runtime::Duration makespan();
  /// The longest busy time of a resource.
  runtime::Duration busiest();
  /// The sum of all tasks, one after the other.
  runtime::Duration total() const;

 private:
  int after_begin(size_t task) const { return task == 0 ? 0 : after_end_[task - 1]; }
  void end_task();
  runtime::Duration in_given_order();
  runtime::Duration in_listed_order();
  void find_tails();
  void find_next();
  runtime::Duration free_at(int task) const;
  void hold(int task, runtime::Duration until);

  std::vector<runtime::Duration> length_;
  std::vector<const std::vector<int>*> resources_;
  std::vector<int> after_;
  std::vector<int> after_end_;  ///< by task, of all but the last begun
  // Below: results of one call, kept for their memory.
  std::vector<runtime::Duration> free_;  ///< by resource
  std::vector<runtime::Duration> finish_;
  std::vector<runtime::Duration> tail_;
  std::vector<int> next_;
  std::vector<int> next_begin_;
  std::vector<int> waits_;
  std::vector<int> ready_;
};

}  // namespace collage::place
