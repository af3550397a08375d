// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/overlap.h"

#include <algorithm>
#include <bit>

#include "runtime/plan/plan_schedule.h"

namespace collage::plan {
namespace {

using runtime::Task;

/// By step s: the last step that may run while s runs, which neither waits for s nor follows it in some queue, directly
/// or through others.
std::vector<int> last_beside(const std::vector<Task>& tasks) {
  const size_t count = tasks.size(), words = count / 64 + 1;
  std::vector<std::vector<int>> next(count);
  std::vector<int> last_of_resource;
  for (size_t t = 0; t < count; ++t) {
    for (int before : tasks[t].after) next[static_cast<size_t>(before)].push_back(static_cast<int>(t));
    for (int resource : tasks[t].resources) {
      const auto r = static_cast<size_t>(resource);
      if (last_of_resource.size() <= r) last_of_resource.resize(r + 1, -1);
      if (last_of_resource[r] >= 0) next[static_cast<size_t>(last_of_resource[r])].push_back(static_cast<int>(t));
      last_of_resource[r] = static_cast<int>(t);
    }
  }
  std::vector<std::vector<uint64_t>> later(count, std::vector<uint64_t>(words));
  std::vector<int> result(count);
  for (size_t t = count; t-- > 0;) {
    std::vector<uint64_t>& own = later[t];
    for (int n : next[t]) {
      const auto reader = static_cast<size_t>(n);
      own[reader / 64] |= uint64_t{1} << (reader % 64);
      for (size_t w = reader / 64; w < words; ++w) own[w] |= later[reader][w];
    }
    result[t] = static_cast<int>(t);
    for (size_t s = count; s-- > t + 1;) {
      if (own[s / 64] == ~uint64_t{0} && s % 64 == 63) {
        s -= 63;  // a word of steps that all come later
        continue;
      }
      if ((own[s / 64] >> (s % 64) & 1) != 0) continue;
      result[t] = static_cast<int>(s);
      break;
    }
  }
  return result;
}

/// Buffers by step, with the results of each partition at its last step. A result that lies in the bytes of an operand
/// is made without touching it, and its readers must still come after its partition:
///
///     p: u = Reshape(x), no copy    q: reads u    =>    p touches u
std::vector<std::vector<runtime::BufferId>> touched_or_made(const runtime::Plan& plan,
                                                            const std::vector<PartitionResults>& results) {
  std::vector<std::vector<runtime::BufferId>> touched = runtime::touched_buffers(plan);
  for (const PartitionResults& made : results) {
    std::vector<runtime::BufferId>& ids = touched[made.last_step];
    for (const auto& [value, buffer] : made.values) {
      const auto at = std::lower_bound(ids.begin(), ids.end(), buffer);
      const bool is_there = at != ids.end() && *at == buffer;
      if (!is_there && !plan.buffers[static_cast<size_t>(buffer)].is_constant) ids.insert(at, buffer);
    }
  }
  return touched;
}

}  // namespace

std::vector<size_t> order_steps(runtime::Plan& plan, const std::vector<PartitionResults>& results) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<int> order = runtime::good_order(runtime::tasks_of(plan, machine, touched_or_made(plan, results)));
  std::vector<size_t> place(order.size());
  std::vector<runtime::Step> steps;
  for (int step : order) {
    place[static_cast<size_t>(step)] = steps.size();
    steps.push_back(std::move(plan.steps[static_cast<size_t>(step)]));
  }
  plan.steps = std::move(steps);
  return place;
}

std::vector<LiveRange> concurrent_live_ranges(const runtime::Plan& plan) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<int> beside = last_beside(runtime::tasks_of(plan, machine));
  const std::vector<int> ticks = last_ticks(plan);
  std::vector<LiveRange> ranges = live_ranges(plan);
  const std::vector<std::vector<runtime::BufferId>> touched = runtime::touched_buffers(plan);
  for (size_t s = 0; s < touched.size(); ++s) {
    const int until = ticks[static_cast<size_t>(beside[s])];
    for (runtime::BufferId id : touched[s]) {
      LiveRange& range = ranges[static_cast<size_t>(id)];
      range.last = std::max(range.last, until);
    }
  }
  return ranges;
}

}  // namespace collage::plan
