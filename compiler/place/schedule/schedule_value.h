// SPDX-License-Identifier: Apache-2.0
// What an objective with overlap asks of a schedule of tasks (runtime/core/schedule.h).
#pragma once

#include <vector>

#include "compiler/place/schedule/flat_tasks.h"
#include "runtime/core/duration.h"
#include "runtime/core/schedule.h"

namespace collage::place {

struct ScheduleValue {
  /// The value of a schedule of these tasks: less is better.
  runtime::Duration (*value)(const std::vector<runtime::Task>& tasks);
  /// At most `value`, and quick to compute: the search compares solutions by it.
  runtime::Duration (FlatTasks::*estimate)();
  /// Whether no value is less than the time of the longest path of tasks.
  bool is_bound_by_paths = false;
};

}  // namespace collage::place
