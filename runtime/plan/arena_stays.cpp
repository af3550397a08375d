// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/arena_stays.h"

#include <cstdint>
#include <numeric>

#include "runtime/core/checked_size.h"
#include "runtime/core/tensor.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::runtime {

std::vector<std::vector<int>> steps_in_arenas(const Plan& plan) {
  std::vector<std::vector<int>> steps(plan.spaces.size());
  const std::vector<std::vector<BufferId>> touched = touched_buffers(plan);
  for (size_t s = 0; s < touched.size(); ++s) {
    for (BufferId id : touched[s]) {
      std::vector<int>& of_space = steps[static_cast<size_t>(plan.buffers[static_cast<size_t>(id)].space)];
      if (of_space.empty() || of_space.back() != static_cast<int>(s)) of_space.push_back(static_cast<int>(s));
    }
  }
  for (const std::vector<PlanPort>* ports : {&plan.inputs, &plan.outputs}) {
    for (const PlanPort& port : *ports) {
      const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
      std::vector<int>& of_space = steps[static_cast<size_t>(buffer.space)];
      if (buffer.is_constant || of_space.size() == plan.steps.size()) continue;
      of_space.resize(plan.steps.size());
      std::iota(of_space.begin(), of_space.end(), 0);
    }
  }
  return steps;
}

size_t arenas_that_fit(size_t capacity, size_t used, size_t arena_bytes) {
  if (capacity == 0 || arena_bytes == 0) return SIZE_MAX;
  return capacity > used ? (capacity - used) / align_up(arena_bytes, kTensorAlignment) : 0;
}

int runs_to_next_use(int executions, int arenas) {
  if (arenas >= executions) return executions;
  const int beyond = executions % arenas;  // those of the last round share with the first ones of the next
  return beyond == 0 ? arenas : beyond;
}

}  // namespace collage::runtime
