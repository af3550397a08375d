// SPDX-License-Identifier: Apache-2.0
// Devices that go wrong as a FaultSpec says. `wrap` puts a device behind another one that counts its commands and lets
// some of them fail; transfers are compared by checksums at both ends, so that a flipped bit is a failed copy.
//
//     Device  =>  FaultyDevice(Device)     same memory, queues and clock
//
// What was counted, and whether a device is lost, belongs to its space and stays with the injector: programs that are
// loaded one after another on `npu[0]` see one device. Faults repeat exactly for the same spec and the same commands.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/devices/device.h"
#include "runtime/devices/faults/fault_spec.h"

namespace collage::runtime {

/// Counts of one device, since the injector was made.
struct DeviceCounts {
  size_t copies = 0, launches = 0, allocations = 0;  ///< commands that were given, failed ones included
  size_t bytes_in = 0, bytes_out = 0,
         bytes_peer = 0;  ///< over its links, by copies that it sent or took and were right
  size_t used = 0;        ///< bytes that are allocated now
  size_t faults = 0;      ///< commands that went wrong by the spec
  bool is_lost = false;
};

/// What is to go wrong with a command.
struct InjectedFault {
  FaultKind kind = FaultKind::Fail;
  Duration patience{};
  uint64_t chance = 0;  ///< a number that nothing else depends on: which bit flips
  std::string message;
};

/// The faults of one space. Functions may be called by several threads at once.
class FaultState {
 public:
  FaultState(std::string space, const FaultSpec& spec);

  /// Counts a command. Returns what goes wrong with it; of a lost device always its loss.
  std::optional<InjectedFault> next(FaultCommand command);
  bool is_lost() const;
  DeviceCounts counts() const;
  /// Calls `change` with the counts.
  template <typename Change>
  void note(const Change& change) {
    std::lock_guard lock(mutex_);
    change(counts_);
  }

 private:
  bool applies(const FaultRule& rule, size_t rule_index, size_t ordinal) const;
  size_t& count_of(FaultCommand command);

  std::string space_;
  uint64_t seed_;
  std::vector<FaultRule> rules_;  ///< of this space
  mutable std::mutex mutex_;
  DeviceCounts counts_;
  std::string loss_;  ///< why it is lost
};

class FaultInjector {
 public:
  explicit FaultInjector(FaultSpec spec = {}) : spec_(std::move(spec)) {}

  /// Several threads may wrap at once. What it returns does not need the injector.
  std::unique_ptr<Device> wrap(std::unique_ptr<Device> device);
  DeviceCounts counts(const std::string& space);
  /// Spaces of devices that are lost.
  std::vector<std::string> lost() const;

 private:
  std::shared_ptr<FaultState> state_of(const std::string& space);

  FaultSpec spec_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FaultState>> states_;
};

}  // namespace collage::runtime
