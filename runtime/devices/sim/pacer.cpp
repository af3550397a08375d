// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/pacer.h"

#include <algorithm>

#include "runtime/plan/plan_schedule.h"

namespace collage::runtime {
namespace {

std::chrono::nanoseconds wall_time(Duration length) {
  constexpr int64_t kPicoseconds = 1000;  // of a nanosecond
  return std::chrono::nanoseconds((length.ps() + kPicoseconds - 1) / kPicoseconds);
}

}  // namespace

Pacer::Pacer(const DeviceSpec& spec) : space_(spec.space), machine_(machine_of({spec})) {}

Pacer::Clock::time_point Pacer::work(Duration length) {
  std::lock_guard lock(mutex_);
  const std::vector<int> resources = machine_.of_work(space_);
  const Clock::time_point end = std::max(Clock::now(), free_at(resources)) + wall_time(length);
  hold(resources, end);
  return end;
}

/// Each end knows its own queue, and both know the link.
Pacer::Clock::time_point Pacer::copy(const std::string& from, const std::string& to, Pacer* peer, Duration length) {
  std::unique_lock lock(mutex_, std::defer_lock);
  std::unique_lock<std::mutex> peer_lock;
  if (peer == nullptr || peer == this) {
    peer = nullptr;
    lock.lock();
  } else {
    peer_lock = std::unique_lock(peer->mutex_, std::defer_lock);
    std::lock(lock, peer_lock);
  }
  const std::vector<int> here = machine_.of_copy(from, to);
  const std::vector<int> there = peer == nullptr ? std::vector<int>() : peer->machine_.of_copy(from, to);
  Clock::time_point start = std::max(Clock::now(), free_at(here));
  if (peer != nullptr) start = std::max(start, peer->free_at(there));
  const Clock::time_point end = start + wall_time(length);
  hold(here, end);
  if (peer != nullptr) peer->hold(there, end);
  return end;
}

Pacer::Clock::time_point Pacer::free_at(const std::vector<int>& resources) {
  free_at_.resize(machine_.names().size());
  Clock::time_point time{};
  for (int resource : resources) time = std::max(time, free_at_[static_cast<size_t>(resource)]);
  return time;
}

void Pacer::hold(const std::vector<int>& resources, Clock::time_point until) {
  for (int resource : resources) free_at_[static_cast<size_t>(resource)] = until;
}

}  // namespace collage::runtime
