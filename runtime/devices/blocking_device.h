// SPDX-License-Identifier: Apache-2.0
// The start of a new kind of device: it writes what each command does, as a function that returns when it is done, and
// gets queues and events. They run commands in the thread that gives them, so that nothing overlaps.
#pragma once

#include "runtime/devices/command_queue.h"

namespace collage::runtime {

class BlockingDevice : public Device {
 public:
  Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) override;
  FaultInfo faults() const override { return faults_.info(); }
  Duration now() const override { return Duration(); }

  // As DeviceQueue has them. Several threads call them at once.
  virtual Status copy_in(std::span<const std::byte> from, DeviceAddress to) = 0;
  virtual Status copy_out(DeviceAddress from, std::span<std::byte> to) = 0;
  virtual Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) = 0;
  virtual Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) = 0;
  virtual Status launch(std::span<const DeviceOp> ops, Duration duration) = 0;

 private:
  FaultLog faults_;
};

/// Copies bytes that the host can read into a device of any kind, on a queue of its own, and waits.
Status copy_into(Device& device, std::span<const std::byte> from, DeviceAddress to);

}  // namespace collage::runtime
