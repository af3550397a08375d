// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/simulate/simulation.h"

#include <algorithm>
#include <map>

#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::driver {
namespace {

using runtime::Plan;
using runtime::Task;

/// `accel3[12]`  =>  `accel`
std::string without_numbers(std::string name) {
  if (const size_t bracket = name.find('['); bracket != std::string::npos) name.resize(bracket);
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos) name.resize(last + 1);
  return name;
}

std::string kind_of(const runtime::LinkHop& link) {
  const std::string a = without_numbers(link.from), b = without_numbers(link.to);
  return std::min(a, b) + " - " + std::max(a, b);
}

size_t bytes_moved(const Plan& plan, const runtime::ConvertStep& step) {
  return plan.buffers[static_cast<size_t>(step.from)].tensor.bytes();
}

bool is_copy(const Plan& plan, const runtime::ConvertStep& step) {
  return plan.buffers[static_cast<size_t>(step.from)].space != plan.buffers[static_cast<size_t>(step.to)].space;
}

void add_links(const Plan& plan, const runtime::Machine& machine, const std::vector<Task>& tasks, Simulation* result) {
  std::map<int, LinkUse> links;
  for (size_t s = 0; s < tasks.size(); ++s) {
    const auto* convert = std::get_if<runtime::ConvertStep>(&plan.steps[s]);
    if (convert == nullptr || !is_copy(plan, *convert)) continue;
    const size_t bytes = bytes_moved(plan, *convert);
    ++result->copies;
    result->copied_bytes += bytes;
    for (int resource : tasks[s].resources) {
      const runtime::LinkHop* hop = machine.link(resource);
      if (hop == nullptr) continue;
      LinkUse& link = links[resource];
      link.name = machine.names()[static_cast<size_t>(resource)];
      link.kind = kind_of(*hop);
      ++link.copies;
      link.bytes += bytes;
      link.busy += tasks[s].length;
    }
  }
  std::map<std::string, LinkKindUse> kinds;
  for (auto& [resource, link] : links) {
    LinkKindUse& kind = kinds[link.kind];
    kind.kind = link.kind;
    ++kind.links;
    kind.bytes += link.bytes;
    kind.busy += link.busy;
    result->links.push_back(std::move(link));
  }
  std::stable_sort(result->links.begin(), result->links.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  for (auto& [name, kind] : kinds) result->kinds.push_back(std::move(kind));
  std::stable_sort(result->kinds.begin(), result->kinds.end(),
                   [](const LinkKindUse& a, const LinkKindUse& b) { return a.bytes > b.bytes; });
}

void add_memories(const Plan& plan, runtime::Machine& machine, const std::vector<Task>& tasks, Simulation* result) {
  std::vector<Duration> busy = runtime::busy_times(tasks);
  for (const runtime::MemorySpace& space : plan.spaces) {
    MemoryUse use{
        space.name, runtime::is_host_space(space.name), space.constant_bytes, space.arena_bytes, space.capacity, {}};
    for (int resource : machine.of_work(space.name)) {
      if (static_cast<size_t>(resource) < busy.size()) use.busy += busy[static_cast<size_t>(resource)];
    }
    result->memories.push_back(std::move(use));
  }
}

/// So many requests fit into all memories, up to `most`; and the memory that has no room for one more.
int requests_that_fit(const std::vector<MemoryUse>& memories, int most, std::string* limited_by) {
  int fit = std::max(most, 1);
  for (const MemoryUse& memory : memories) {
    if (memory.capacity == 0 || memory.arena == 0) continue;
    const size_t room = memory.capacity > memory.constants ? memory.capacity - memory.constants : 0;
    const size_t count = std::max<size_t>(room / memory.arena, 1);
    if (count >= static_cast<size_t>(fit)) continue;
    fit = static_cast<int>(count);
    *limited_by = memory.space;
  }
  return fit;
}

Duration end_of(const std::vector<runtime::Slot>& slots) {
  Duration end;
  for (const runtime::Slot& slot : slots) end = std::max(end, slot.finish);
  return end;
}

StreamFigures stream_of(const std::vector<Task>& tasks, const std::vector<MemoryUse>& memories, int in_flight) {
  StreamFigures figures;
  figures.stages = runtime::run_stream(tasks, 1).stages;
  figures.in_flight = in_flight > 0 ? in_flight : requests_that_fit(memories, figures.stages, &figures.limited_by);
  const int group = std::min(figures.in_flight, figures.stages);
  if (figures.in_flight >= figures.stages) {
    figures.first = end_of(runtime::run_stream(tasks, group).slots.front());
    figures.period = runtime::stream_period(tasks);
  } else {
    // Whole groups of those in flight; the first half fills what works side by side.
    constexpr size_t kMostTasks = 500'000;
    const size_t tasks_of_group = static_cast<size_t>(group) * std::max<size_t>(tasks.size(), 1);
    const int groups = static_cast<int>(std::clamp<size_t>(kMostTasks / tasks_of_group, 4, 16)) / 2 * 2;
    const runtime::Stream stream = runtime::run_stream(tasks, group * groups, figures.in_flight);
    figures.first = end_of(stream.slots.front());
    const int counted = group * groups / 2;
    const Duration half = end_of(stream.slots[static_cast<size_t>(counted) - 1]);
    const Duration rest = end_of(stream.slots.back()) - half;
    figures.period = Duration::picoseconds((rest.ps() + counted - 1) / counted);
  }
  double busy = 0, devices = 0;
  for (const MemoryUse& memory : memories) {
    if (memory.is_host) continue;
    busy += memory.busy.seconds();
    devices += 1;
  }
  if (devices > 0 && figures.period > Duration()) {
    figures.bubbles = std::max(0.0, 1 - busy / (devices * figures.period.seconds()));
  }
  return figures;
}

}  // namespace

Simulation simulate(const Plan& plan, const SimulateOptions& options) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<Task> tasks = runtime::tasks_of(plan, machine);
  const runtime::Timeline timeline = runtime::predicted_timeline(plan, tasks);
  Simulation result;
  result.devices = options.devices;
  result.partitions = plan.partitions.size();
  result.time = timeline.makespan();
  add_memories(plan, machine, tasks, &result);
  add_links(plan, machine, tasks, &result);
  result.path = critical_path(plan, tasks, timeline);
  if (options.is_stream) result.stream = stream_of(tasks, result.memories, options.in_flight);
  return result;
}

}  // namespace collage::driver
