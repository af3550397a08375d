// SPDX-License-Identifier: Apache-2.0
// The same work with devices, queues and links side by side: the time at which the last task is done.
#include "compiler/place/objectives/objective.h"

namespace collage::place {
namespace {

runtime::Duration value_of(const std::vector<runtime::Task>& tasks) {
  return makespan(reordered(tasks, good_order(tasks)));
}

constexpr ScheduleValue kMakespan{.value = &value_of, .estimate = &FlatTasks::makespan, .is_bound_by_paths = true};

}  // namespace

// A partition gives its results at its end: joined ones would keep others waiting.
constinit const Objective objective_makespan{
    .name = "makespan",
    .description = "devices, queues and links side by side",
    .schedule = &kMakespan,
    .keeps_partitions_apart = true,
};

}  // namespace collage::place
