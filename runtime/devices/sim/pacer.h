// SPDX-License-Identifier: Apache-2.0
// Simulated time as wall time, for devices with the attribute `realtime = 1`: each command takes as long as its
// simulated length says, on the resources of the event model (core/machine.h). Commands of several queues that need the
// same resource take turns. A command begins when it could, not when a thread of the host comes to it: delays of that
// thread do not add up from command to command.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/core/machine.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Rounded up to whole nanoseconds.
std::chrono::nanoseconds wall_time(Duration length);

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pacer(const DeviceSpec& spec);

  /// Holds the resources of a launch or reorder from the first moment when they are free, `earliest` at the earliest.
  /// Returns when that ends.
  Clock::time_point work(Duration length, Clock::time_point earliest);
  /// The same of a copy between two spaces. `peer`: of the other device, if the other end is one.
  Clock::time_point copy(const std::string& from, const std::string& to, Pacer* peer, Duration length,
                         Clock::time_point earliest);
  /// From now on both wait for each other on the resources that both know. Expects that nothing is held yet.
  void share(Pacer& other) { occupancy_ = other.occupancy_; }

 private:
  /// Until when each resource is taken.
  struct Occupancy {
    std::mutex mutex;
    std::map<std::string, Clock::time_point> until;  ///< by name of the resource

    Clock::time_point free_at(const std::set<std::string>& resources) const;
    void hold(const std::set<std::string>& resources, Clock::time_point end);
  };

  std::set<std::string> named(const std::vector<int>& resources) const;

  std::string space_;
  std::mutex mutex_;  ///< of the machine, which learns names as they come up
  Machine machine_;   ///< of this device alone
  std::shared_ptr<Occupancy> occupancy_ = std::make_shared<Occupancy>();
};

}  // namespace collage::runtime
