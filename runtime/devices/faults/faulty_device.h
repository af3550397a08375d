// SPDX-License-Identifier: Apache-2.0
// A device around another one: commands go wrong as its state says, transfers are checked. A transfer is waited for
// before its checksums are compared, so that copies do not overlap other work in wall time; the clock of the device
// counts as ever.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/devices/command_queue.h"
#include "runtime/devices/faults/fault_injector.h"

namespace collage::runtime {

class FaultyDevice : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, std::shared_ptr<FaultState> state)
      : inner_(std::move(inner)), state_(std::move(state)) {}
  /// Blocks that are still allocated are freed with the device.
  ~FaultyDevice() override;

  const std::string& space() const override { return inner_->space(); }
  Result<DeviceAddress> allocate(size_t bytes) override;
  Status free(DeviceAddress address) override;
  MemoryInfo memory() const override { return inner_->memory(); }
  Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) override;
  FaultInfo faults() const override;
  Duration now() const override { return inner_->now(); }
  bool is_simulated() const override { return inner_->is_simulated(); }
  std::vector<std::string> log() const override { return inner_->log(); }
  Traffic traffic() const override { return inner_->traffic(); }
  void share_links(Device& other) override { inner_->share_links(other); }
  Device& innermost() override { return inner_->innermost(); }
  bool is_lost() const override { return inner_->is_lost() || state_->is_lost(); }
  std::optional<uint64_t> checksum(DeviceAddress address, size_t bytes) const override {
    return inner_->checksum(address, bytes);
  }

 private:
  friend class FaultyQueue;

  std::unique_ptr<Device> inner_;
  std::shared_ptr<FaultState> state_;
  FaultLog log_;
  std::mutex mutex_;
  std::map<DeviceAddress, size_t> allocated_;  ///< bytes by address
};

}  // namespace collage::runtime
