// SPDX-License-Identifier: Apache-2.0
// Simulated time as wall time, for devices with the attribute `realtime = 1`: each command takes as long as its simulated
// length says, on the resources of the event model (core/machine.h). Commands of several queues that need the same
// resource take turns.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/machine.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

class Pacer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pacer(const DeviceSpec& spec);

  /// Holds the resources of a launch or reorder from the first moment when they are free. Returns when that ends.
  Clock::time_point work(Duration length);
  /// The same of a copy between two spaces. `peer`: of the other device, if the other end is one.
  Clock::time_point copy(const std::string& from, const std::string& to, Pacer* peer, Duration length);

 private:
  Clock::time_point free_at(const std::vector<int>& resources);
  void hold(const std::vector<int>& resources, Clock::time_point until);

  std::mutex mutex_;
  std::string space_;
  Machine machine_;                         ///< of this device alone
  std::vector<Clock::time_point> free_at_;  ///< by resource
};

}  // namespace collage::runtime
