// SPDX-License-Identifier: Apache-2.0
// Time per input where inputs follow each other without end. An input takes the busiest resource's time, or more.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/place/objectives/objective.h"
#include "runtime/core/text.h"

namespace collage::place {
namespace {

runtime::Duration busiest(const std::vector<runtime::Task>& tasks) {
  const std::vector<runtime::Duration> busy = busy_times(tasks);
  return busy.empty() ? runtime::Duration() : *std::max_element(busy.begin(), busy.end());
}

std::string inputs_a_second(Cost value) {
  if (value.count() <= 0) return "";
  return fmt::format(", {} inputs a second", runtime::with_prefix(1 / value.value()));
}

constexpr ScheduleValue kStreamPeriod{.value = &runtime::stream_period, .estimate = &busiest};

}  // namespace

constinit const Objective objective_throughput{
    .name = "throughput",
    .description = "time per input of an endless stream",
    .schedule = &kStreamPeriod,
    .remark = &inputs_a_second,
};

}  // namespace collage::place
