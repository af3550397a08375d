// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/faults/faulty_device.h"

#include <chrono>
#include <thread>

#include "runtime/core/checksum.h"

namespace collage::runtime {
namespace {

constexpr unsigned kBitsOfByte = 8;

/// A point of a queue that has failed.
class FailedEvent : public Event {
 public:
  FailedEvent(EventRef point, Status failure) : point_(std::move(point)), failure_(std::move(failure)) {}
  bool is_reached() const override { return point_->is_reached(); }
  Status wait() const override {
    (void)point_->wait();
    return failure_;
  }
  Duration clock() const override { return point_->clock(); }

 private:
  EventRef point_;
  Status failure_;
};

void flip_bit(std::span<std::byte> bytes, uint64_t chance) {
  if (bytes.empty()) return;
  bytes[chance / kBitsOfByte % bytes.size()] ^= static_cast<std::byte>(1U << (chance % kBitsOfByte));
}

}  // namespace

class FaultyQueue : public DeviceQueue {
 public:
  FaultyQueue(FaultyDevice& device, std::unique_ptr<DeviceQueue> inner) : device_(device), inner_(std::move(inner)) {}

  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    return transfer([&](const InjectedFault* flip) {
      std::vector<std::byte> sent;
      if (flip != nullptr) {
        sent.assign(from.begin(), from.end());
        flip_bit(sent, flip->chance);
      }
      if (Status status = done(inner_->copy_in(flip != nullptr ? sent : from, to)); !status) return status;
      if (Status status = compare(checksum(from), checksum_of(*device_.inner_, *inner_, to, from.size())); !status)
        return status;
      device_.state_->note([&](DeviceCounts& counts) { counts.bytes_in += from.size(); });
      return Status::ok();
    });
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    return transfer([&](const InjectedFault* flip) {
      if (Status status = done(inner_->copy_out(from, to)); !status) return status;
      if (flip != nullptr) flip_bit(to, flip->chance);
      if (Status status = compare(checksum(to), checksum_of(*device_.inner_, *inner_, from, to.size())); !status)
        return status;
      device_.state_->note([&](DeviceCounts& counts) { counts.bytes_out += to.size(); });
      return Status::ok();
    });
  }
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override {
    auto* faulty = dynamic_cast<FaultyDevice*>(&to_device);
    Device& target = faulty == nullptr ? to_device : *faulty->inner_;
    if (target.is_lost() || (faulty != nullptr && faulty->is_lost())) {
      return fail(Status::error(to_device.space() + " is lost: it takes no copy from " + device_.space()));
    }
    return transfer([&](const InjectedFault* flip) {
      if (Status status = done(inner_->copy_peer(from, target, to, bytes)); !status) return status;
      Result<std::unique_ptr<DeviceQueue>> there = target.open_queue(QueueKind::CopyOut);
      if (!there) return there.status();
      if (flip != nullptr) {
        if (Status status = flip_in(**there, to, bytes, flip->chance); !status) return status;
      }
      const Result<uint64_t> sent = checksum_of(*device_.inner_, *inner_, from, bytes);
      if (!sent) return sent.status();
      if (Status status = compare(*sent, checksum_of(target, **there, to, bytes)); !status) return status;
      device_.state_->note([&](DeviceCounts& counts) { counts.bytes_peer += bytes; });
      return Status::ok();
    });
  }
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) override {
    if (Status status = begin(FaultCommand::Launch, nullptr); !status) return status;
    return inner_->reorder(from, to, duration);
  }
  Status launch(std::span<const DeviceOp> ops, Duration duration) override {
    if (Status status = begin(FaultCommand::Launch, nullptr); !status) return status;
    return inner_->launch(ops, duration);
  }

  Status wait(const EventRef& event) override { return failure_ ? inner_->wait(event) : failure_; }
  EventRef record() override {
    EventRef point = inner_->record();
    return failure_ ? point : std::make_shared<FailedEvent>(std::move(point), failure_);
  }
  Status synchronize() override {
    const Status end = inner_->synchronize();
    return failure_ ? end : failure_;
  }
  bool waits_in_caller() const override { return true; }
  void reset() override {
    inner_->reset();
    failure_ = Status::ok();
  }

 private:
  /// Counts a command. A flip is for the caller, who passes `flip`; any other fault fails.
  Status begin(FaultCommand command, std::optional<InjectedFault>* flip) {
    if (!failure_) return failure_;
    std::optional<InjectedFault> fault = device_.state_->next(command);
    if (!fault) return Status::ok();
    if (fault->kind == FaultKind::Flip && flip != nullptr) {
      *flip = std::move(fault);
      return Status::ok();
    }
    if (fault->kind == FaultKind::Timeout) {
      std::this_thread::sleep_for(std::chrono::duration<double>(fault->patience.seconds()));
    }
    return fail(Status::error(fault->message));
  }

  template <typename Copy>
  Status transfer(const Copy& copy) {
    std::optional<InjectedFault> flip;
    if (Status status = begin(FaultCommand::Copy, &flip); !status) return status;
    const Status status = copy(flip ? &*flip : nullptr);
    // The failure of the queue itself stays there, and was counted there.
    if (status || !inner_->synchronize()) return status;
    return fail(flip ? Status::error(status.message() + ": " + flip->message) : status);
  }

  Status fail(const Status& failure) {
    failure_ = failure;
    device_.log_.add(failure);
    return failure;
  }

  Status done(const Status& given) { return given ? inner_->synchronize() : given; }

  /// Computed by the device, or from a copy where it cannot.
  static Result<uint64_t> checksum_of(const Device& device, DeviceQueue& queue, DeviceAddress address, size_t bytes) {
    if (std::optional<uint64_t> sum = device.checksum(address, bytes)) return *sum;
    std::vector<std::byte> copy(bytes);
    if (Status status = queue.copy_out(address, copy); !status) return status;
    if (Status status = queue.synchronize(); !status) return status;
    return checksum(copy);
  }

  static Status compare(uint64_t here, const Result<uint64_t>& there) {
    if (!there) return there.status();
    return here == *there ? Status::ok() : Status::error("the bytes changed on the way, by their checksum");
  }

  static Status flip_in(DeviceQueue& queue, DeviceAddress to, size_t bytes, uint64_t chance) {
    std::vector<std::byte> copy(bytes);
    if (Status status = queue.copy_out(to, copy); !status) return status;
    if (Status status = queue.synchronize(); !status) return status;
    flip_bit(copy, chance);
    if (Status status = queue.copy_in(copy, to); !status) return status;
    return queue.synchronize();
  }

  FaultyDevice& device_;
  std::unique_ptr<DeviceQueue> inner_;
  Status failure_ = Status::ok();
};

FaultyDevice::~FaultyDevice() {
  state_->note([&](DeviceCounts& counts) {
    for (const auto& [address, bytes] : allocated_) counts.used -= bytes;
  });
}

Result<DeviceAddress> FaultyDevice::allocate(size_t bytes) {
  if (std::optional<InjectedFault> fault = state_->next(FaultCommand::Allocation)) {
    const Status failure = Status::error(fault->message);
    log_.add(failure);
    return failure;
  }
  Result<DeviceAddress> address = inner_->allocate(bytes);
  if (!address) return address;
  std::lock_guard lock(mutex_);
  allocated_[*address] = bytes;
  state_->note([&](DeviceCounts& counts) { counts.used += bytes; });
  return address;
}

Status FaultyDevice::free(DeviceAddress address) {
  Status status = inner_->free(address);
  if (!status) return status;
  std::lock_guard lock(mutex_);
  const auto block = allocated_.find(address);
  if (block == allocated_.end()) return status;
  state_->note([&](DeviceCounts& counts) { counts.used -= block->second; });
  allocated_.erase(block);
  return status;
}

Result<std::unique_ptr<DeviceQueue>> FaultyDevice::open_queue(QueueKind kind) {
  Result<std::unique_ptr<DeviceQueue>> inner = inner_->open_queue(kind);
  if (!inner) return inner;
  return std::unique_ptr<DeviceQueue>(std::make_unique<FaultyQueue>(*this, std::move(*inner)));
}

FaultInfo FaultyDevice::faults() const {
  FaultInfo inner = inner_->faults(), own = log_.info();
  own.count += inner.count;
  if (own.last.empty()) own.last = inner.last;
  return own;
}

}  // namespace collage::runtime
