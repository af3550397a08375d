// SPDX-License-Identifier: Apache-2.0
// Time per input where inputs follow each other without end. An input takes the busiest resource's time, or more.
#include <fmt/format.h>

#include "compiler/place/objectives/objective.h"
#include "runtime/core/text.h"

namespace collage::place {
namespace {

std::string inputs_a_second(Cost value) {
  if (value.count() <= 0) return "";
  return fmt::format(", {} inputs a second", runtime::with_prefix(1 / value.value()));
}

constexpr ScheduleValue kStreamPeriod{.value = &runtime::stream_period, .estimate = &FlatTasks::busiest};

}  // namespace

constinit const Objective objective_throughput{
    .name = "throughput",
    .description = "time per input of an endless stream",
    .schedule = &kStreamPeriod,
    .is_stream = true,
    .remark = &inputs_a_second,
};

}  // namespace collage::place
