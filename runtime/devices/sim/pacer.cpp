// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/pacer.h"

#include <algorithm>

#include "runtime/plan/plan_schedule.h"

namespace collage::runtime {

std::chrono::nanoseconds wall_time(Duration length) {
  constexpr int64_t kPicoseconds = 1000;  // of a nanosecond
  return std::chrono::nanoseconds((length.ps() + kPicoseconds - 1) / kPicoseconds);
}

Pacer::Pacer(const DeviceSpec& spec) : space_(spec.space), machine_(machine_of({spec})) {}

Pacer::Clock::time_point Pacer::work(Duration length, Clock::time_point earliest) {
  std::set<std::string> resources;
  {
    std::lock_guard lock(mutex_);
    resources = named(machine_.of_work(space_));
  }
  std::lock_guard lock(occupancy_->mutex);
  const Clock::time_point end = std::max(earliest, occupancy_->free_at(resources)) + wall_time(length);
  occupancy_->hold(resources, end);
  return end;
}

/// Each end knows its own queue, and both know the links. Devices that share no links are two occupancies to lock.
Pacer::Clock::time_point Pacer::copy(const std::string& from, const std::string& to, Pacer* peer, Duration length,
                                     Clock::time_point earliest) {
  std::set<std::string> resources;
  for (Pacer* end : {this, peer}) {
    if (end == nullptr) continue;
    std::lock_guard lock(end->mutex_);
    resources.merge(end->named(end->machine_.of_copy(from, to)));
  }
  Occupancy& here = *occupancy_;
  Occupancy& there = peer == nullptr ? here : *peer->occupancy_;
  std::unique_lock lock(here.mutex, std::defer_lock), other(there.mutex, std::defer_lock);
  if (&here == &there) {
    lock.lock();
  } else {
    std::lock(lock, other);
  }
  const Clock::time_point start = std::max({earliest, here.free_at(resources), there.free_at(resources)});
  const Clock::time_point end = start + wall_time(length);
  here.hold(resources, end);
  there.hold(resources, end);
  return end;
}

Pacer::Clock::time_point Pacer::Occupancy::free_at(const std::set<std::string>& resources) const {
  Clock::time_point time{};
  for (const std::string& resource : resources) {
    if (const auto known = until.find(resource); known != until.end()) time = std::max(time, known->second);
  }
  return time;
}

void Pacer::Occupancy::hold(const std::set<std::string>& resources, Clock::time_point end) {
  for (const std::string& resource : resources) until[resource] = end;
}

std::set<std::string> Pacer::named(const std::vector<int>& resources) const {
  std::set<std::string> names;
  for (int resource : resources) names.insert(machine_.names()[static_cast<size_t>(resource)]);
  return names;
}

}  // namespace collage::runtime
