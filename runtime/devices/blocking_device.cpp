// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/blocking_device.h"

#include <chrono>

namespace collage::runtime {
namespace {

class BlockingQueue : public DeviceQueue {
 public:
  BlockingQueue(BlockingDevice& device, FaultLog& faults)
      : device_(device), commands_(CommandQueue::make(CommandQueue::Runs::InCaller, faults)) {}

  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    return issue([&] { return device_.copy_in(from, to); });
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    return issue([&] { return device_.copy_out(from, to); });
  }
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override {
    return issue([&] { return device_.copy_peer(from, to_device, to, bytes); });
  }
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) override {
    return issue([&] { return device_.reorder(from, to, duration); });
  }
  Status launch(std::span<const DeviceOp> ops, Duration duration) override {
    return issue([&] { return device_.launch(ops, duration); });
  }

  Status wait(const EventRef& event) override { return commands_->wait(event); }
  EventRef record() override { return commands_->record(); }
  Status synchronize() override { return record()->wait(); }
  void reset() override { commands_->reset(); }
  bool waits_in_caller() const override { return true; }

 private:
  template <typename Work>
  Status issue(const Work& work) {
    return commands_->issue([&](CommandQueue::Turn&) -> Result<Duration> {
      const auto start = std::chrono::steady_clock::now();
      if (Status status = work(); !status) return status;
      return Duration::seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    });
  }

  BlockingDevice& device_;
  std::unique_ptr<CommandQueue> commands_;
};

}  // namespace

Result<std::unique_ptr<DeviceQueue>> BlockingDevice::open_queue(QueueKind) {
  return std::unique_ptr<DeviceQueue>(std::make_unique<BlockingQueue>(*this, faults_));
}

Status copy_into(Device& device, std::span<const std::byte> from, DeviceAddress to) {
  Result<std::unique_ptr<DeviceQueue>> queue = device.open_queue(QueueKind::CopyIn);
  if (!queue) return queue.status();
  if (Status status = (*queue)->copy_in(from, to); !status) return status;
  return (*queue)->synchronize();
}

}  // namespace collage::runtime
