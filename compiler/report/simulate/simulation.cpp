// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/simulate/simulation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "runtime/core/checked_size.h"
#include "runtime/core/host_space.h"
#include "runtime/plan/arena_stays.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::report {
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
        space.name, runtime::is_host_space(space.name), space.constant_bytes, space.arena_bytes, space.capacity, {}, 1};
    for (int resource : machine.of_work(space.name)) {
      if (static_cast<size_t>(resource) < busy.size()) use.busy += busy[static_cast<size_t>(resource)];
    }
    result->memories.push_back(std::move(use));
  }
}

Duration end_of(const std::vector<runtime::Slot>& slots) {
  Duration end;
  for (const runtime::Slot& slot : slots) end = std::max(end, slot.finish);
  return end;
}

/// From when to when a request has a place somewhere.
runtime::Slot stay_of(const std::vector<runtime::Slot>& slots, const std::vector<int>& tasks) {
  runtime::Slot stay{Duration::max(), Duration()};
  for (int t : tasks) {
    stay.start = std::min(stay.start, slots[static_cast<size_t>(t)].start);
    stay.finish = std::max(stay.finish, slots[static_cast<size_t>(t)].finish);
  }
  return stay;
}

/// How many of the stays have a moment in common.
int most_at_once(const std::vector<runtime::Slot>& stays) {
  std::vector<std::pair<Duration, int>> changes;
  for (const runtime::Slot& stay : stays) {
    if (stay.start >= stay.finish) continue;
    changes.emplace_back(stay.start, 1);
    changes.emplace_back(stay.finish, -1);
  }
  std::sort(changes.begin(), changes.end());  // at the same time, who leaves first
  int count = 0, most = 1;
  for (const auto& [time, change] : changes) most = std::max(most, count += change);
  return most;
}

/// A stream of requests on the clock: their number in each memory, when they are done.
class StreamSimulator {
 public:
  StreamSimulator(const Plan& plan, const std::vector<Task>& tasks, std::vector<MemoryUse>& memories)
      : tasks_(tasks), memories_(memories), tasks_in_(runtime::steps_in_arenas(plan)) {
    all_.resize(tasks.size());
    std::iota(all_.begin(), all_.end(), 0);
  }

  /// `in_flight`: 0: as many as keep all at work; or, where a memory has no room for these and they would wait for each
  /// other's arenas, as many as it has arenas for, if that is faster.
  StreamFigures run(int in_flight) {
    const int stages = runtime::run_stream(tasks_, 1).stages;
    if (in_flight > 0) return figures_of(in_flight, stages);
    const StreamFigures all = figures_of(stages, stages);
    const int fit = requests_that_fit_everywhere();
    if (all.limited_by.empty() || fit >= stages) return all;
    const StreamFigures fewer = figures_of(fit, stages);
    return fewer.period < all.period ? fewer : figures_of(stages, stages);
  }

 private:
  StreamFigures figures_of(int most, int stages) {
    StreamFigures figures;
    figures.stages = stages;
    const bool is_few = most < figures.stages;
    std::vector<runtime::StreamRoom> rooms = rooms_of(most, &figures.limited_by);
    // Where requests in flight are not limited, rooms alone hold back those of a device that is faster than the others.
    if (is_few) std::erase_if(rooms, [&](const runtime::StreamRoom& room) { return room.inputs >= most; });
    const runtime::StreamLimits limits{is_few ? most : 0, std::move(rooms)};
    const int filling = std::min(most, figures.stages);
    const int counted = counted_after(filling);
    const runtime::Stream stream = runtime::run_stream(tasks_, filling + counted, limits);
    figures.first = end_of(stream.slots.front());
    const int at_once = count_places(stream);
    if (is_few || !figures.limited_by.empty()) {
      figures.in_flight = std::min(most, at_once);
      const Duration rest = end_of(stream.slots.back()) - end_of(stream.slots[static_cast<size_t>(filling) - 1]);
      figures.period = Duration::picoseconds((rest.ps() + counted - 1) / counted);
      // Results may come in bursts, of which only some are counted.
      for (Duration busy : runtime::busy_times(tasks_)) figures.period = std::max(figures.period, busy);
    } else {
      figures.in_flight = most;
      figures.period = runtime::stream_period(tasks_);
    }
    figures.bubbles = bubbles(figures.period);
    return figures;
  }

  static constexpr int kAnyNumber = std::numeric_limits<int>::max();

  /// Requests after those that fill the stages, in whole groups of as many.
  int counted_after(int filling) const {
    constexpr size_t kMostTasks = 500'000;
    const size_t groups = kMostTasks / (static_cast<size_t>(filling) * std::max<size_t>(tasks_.size(), 1));
    return filling * static_cast<int>(std::clamp<size_t>(groups, 1, 8));
  }

  /// How many requests memories hold: as many as keep all at work, or as fit.
  std::vector<runtime::StreamRoom> rooms_of(int in_flight, std::string* limited_by) const {
    std::vector<runtime::StreamRoom> all;
    std::vector<const MemoryUse*> of_room;
    for (size_t m = 0; m < memories_.size(); ++m) {
      if (memories_[m].arena == 0 || tasks_in_[m].empty()) continue;
      all.push_back({tasks_in_[m], in_flight});
      of_room.push_back(&memories_[m]);
    }
    const std::vector<int> rounds = runtime::rounds_in_rooms(tasks_, all);
    int most_missing = 0;
    for (size_t r = 0; r < all.size(); ++r) {
      const int wanted = std::min(rounds[r], in_flight), fit = requests_that_fit(*of_room[r]);
      const int free_again = runtime::runs_to_next_use(in_flight, fit);
      all[r].inputs = wanted;
      if (free_again >= wanted) continue;
      all[r].inputs = fit;
      all[r].in_turn = in_flight;
      if (wanted - free_again <= most_missing) continue;
      most_missing = wanted - free_again;
      *limited_by = of_room[r]->space;
    }
    return all;
  }

  int requests_that_fit_everywhere() const {
    int least = kAnyNumber;
    for (const MemoryUse& memory : memories_) {
      if (memory.arena > 0) least = std::min(least, requests_that_fit(memory));
    }
    return least;
  }

  static int requests_that_fit(const MemoryUse& memory) {
    const size_t constants = runtime::align_up(memory.constants, runtime::kTensorAlignment);
    const size_t fit = runtime::arenas_that_fit(memory.capacity, constants, memory.arena);
    return static_cast<int>(std::clamp<size_t>(fit, 1, kAnyNumber));
  }

  /// How many requests are in each memory. Returns how many there are in all.
  int count_places(const runtime::Stream& stream) {
    const auto most = [&](const std::vector<int>& tasks) {
      std::vector<runtime::Slot> stays;
      for (const std::vector<runtime::Slot>& slots : stream.slots) stays.push_back(stay_of(slots, tasks));
      return most_at_once(stays);
    };
    for (size_t m = 0; m < memories_.size(); ++m) {
      if (memories_[m].arena > 0) memories_[m].requests = most(tasks_in_[m]);
    }
    return most(all_);
  }

  double bubbles(Duration period) const {
    double busy = 0, devices = 0;
    for (const MemoryUse& memory : memories_) {
      if (memory.is_host) continue;
      busy += memory.busy.seconds();
      devices += 1;
    }
    if (devices == 0 || period == Duration()) return 0;
    return std::max(0.0, 1 - busy / (devices * period.seconds()));
  }

  const std::vector<Task>& tasks_;
  std::vector<MemoryUse>& memories_;
  std::vector<std::vector<int>> tasks_in_;  ///< by memory: those that use its arena
  std::vector<int> all_;
};

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
  if (options.is_stream) result.stream = StreamSimulator(plan, tasks, result.memories).run(options.in_flight);
  return result;
}

}  // namespace collage::report
