// SPDX-License-Identifier: Apache-2.0
// A queue of a simulated device. What a command reads of the device's state, faults to inject and the length of a copy,
// is settled when the command is given, so that runs repeat exactly.
#pragma once

#include "runtime/devices/sim/sim_device.h"

namespace collage::runtime {

class SimQueue : public DeviceQueue {
 public:
  explicit SimQueue(SimDevice& device);

  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override;
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override;
  /// To a simulated device only. The time counts on this one: the sum over devices has it once.
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override;
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) override;
  Status launch(std::span<const DeviceOp> ops, Duration duration) override;
  Status wait(const EventRef& event) override { return commands_->wait(event); }
  EventRef record() override { return commands_->record(); }
  Status synchronize() override { return record()->wait(); }
  void reset() override { commands_->reset(); }
  bool waits_in_caller() const override { return !device_.is_realtime_; }

 private:
  template <typename Work>
  static Status take_turn(CommandQueue::Turn& turn, Pacer::Clock::time_point end, Duration length, Work work);
  template <typename Work>
  Status issue_copy(const std::string& from, const std::string& to, SimDevice* peer, size_t bytes, Work work);
  template <typename Work>
  Status issue_work(Duration length, Work work);

  SimDevice& device_;
  std::unique_ptr<CommandQueue> commands_;
};

}  // namespace collage::runtime
