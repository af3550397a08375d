// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/remote_device.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/core/host_space.h"

namespace collage::runtime {

class RemoteDevice::Queue : public DeviceQueue {
 public:
  Queue(RemoteDevice& device, int channel)
      : device_(device), channel_(channel), queue_(CommandQueue::make(CommandQueue::Runs::InThread, device.faults_)) {}

  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    if (Status status = device_.check(to, from.size()); !status) return status;
    return queue_->issue([this, from](CommandQueue::Turn& turn) {
      return finish(device_.transport_->send(device_.peer_, channel_, from), turn, &device_.sent_, from.size());
    });
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    if (Status status = device_.check(from, to.size()); !status) return status;
    return queue_->issue([this, to](CommandQueue::Turn& turn) {
      return finish(device_.transport_->receive(device_.peer_, channel_, to), turn, &device_.received_, to.size());
    });
  }
  Status copy_peer(DeviceAddress, Device&, DeviceAddress, size_t) override {
    return refuse("values reach it from this host's memory alone");
  }
  Status reorder(const DeviceTensor&, const DeviceTensor&, Duration) override {
    return refuse("it computes elsewhere");
  }
  Status launch(std::span<const DeviceOp>, Duration) override { return refuse("it computes elsewhere"); }

  /// After a failure there, the other host gets a message at once that nothing will come: this host may itself wait for
  /// what that one would have sent in return.
  Status wait(const EventRef& event) override {
    const Status status = queue_->issue([this, event](CommandQueue::Turn& turn) -> Result<Duration> {
      if (Status failure = event->wait(); !failure) device_.transport_->abort(failure.message());
      turn.end = std::max(turn.start, event->reached_at());
      return Duration();
    });
    return status ? queue_->wait(event) : status;
  }
  EventRef record() override { return queue_->record(); }
  Status synchronize() override { return record()->wait(); }
  void reset() override { queue_->reset(); }

 private:
  Status refuse(const std::string& why) const {
    return Status::error("`" + device_.space_ + "` is another host: " + why);
  }

  /// The time from the command's turn until the bytes are there, which may be spent in waiting for the other host.
  Result<Duration> finish(const TransferRef& transfer, const CommandQueue::Turn& turn, std::atomic<size_t>* count,
                          size_t bytes) const {
    Status status = device_.transport_->finish(*transfer, device_.limit_, "a value of `" + device_.space_ + "`");
    if (!status) return status;
    *count += bytes;
    return Duration::seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - turn.start).count());
  }

  RemoteDevice& device_;
  int channel_;
  std::unique_ptr<CommandQueue> queue_;  ///< last: it ends before what its commands use
};

Result<DeviceAddress> RemoteDevice::allocate(size_t bytes) {
  std::lock_guard lock(mutex_);
  return addresses_.allocate(bytes);
}

Status RemoteDevice::free(DeviceAddress address) {
  std::lock_guard lock(mutex_);
  return addresses_.free(address);
}

MemoryInfo RemoteDevice::memory() const {
  std::lock_guard lock(mutex_);
  return addresses_.info();
}

Status RemoteDevice::check(DeviceAddress address, size_t bytes) const {
  std::lock_guard lock(mutex_);
  return addresses_.check(address, bytes);
}

Result<std::unique_ptr<DeviceQueue>> RemoteDevice::open_queue(QueueKind) {
  if (channel_ < 0) return Status::error("`" + space_ + "` is another host: its memory cannot be read");
  return std::unique_ptr<DeviceQueue>(std::make_unique<Queue>(*this, channel_));
}

Result<std::unique_ptr<RemoteDevice>> make_remote_device(const DeviceSpec& spec, std::shared_ptr<Transport> transport,
                                                         TimeLimit limit) {
  const std::optional<int> peer = host_number(spec.space);
  if (!peer || *peer >= transport->size() || *peer == transport->rank()) {
    return Status::error("`" + spec.space + "` is no other host of the " + std::to_string(transport->size()) +
                         " that run the plan");
  }
  return std::make_unique<RemoteDevice>(spec.space, *peer, std::move(transport), limit);
}

}  // namespace collage::runtime
