// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/sim_queue.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "runtime/devices/emulate.h"

namespace collage::runtime {

SimQueue::SimQueue(SimDevice& device)
    : device_(device),
      commands_(CommandQueue::make(device.is_realtime_ ? CommandQueue::Runs::InThread : CommandQueue::Runs::InCaller,
                                   device.faults_)) {}

/// Does the work, then sleeps until the time of a command that takes `length` ends. A computation that takes longer
/// than the device would delays that.
template <typename Work>
Status SimQueue::take_turn(CommandQueue::Turn& turn, Pacer::Clock::time_point end, Duration length, Work work) {
  const Pacer::Clock::time_point start = Pacer::Clock::now();
  Status status = work();
  if (!status) return status;
  turn.end = std::max(end, end - wall_time(length) + (Pacer::Clock::now() - start));
  std::this_thread::sleep_until(turn.end);
  return status;
}

template <typename Work>
Status SimQueue::issue_copy(const std::string& from, const std::string& to, SimDevice* peer, size_t bytes, Work work) {
  const Status fault = device_.copy_faults_.next();
  const Result<Duration> length =
      fault ? device_.time_of_copy(to == device_.space() ? from : to, bytes) : Result<Duration>(fault);
  return commands_->issue([this, from, to, peer, length, work](CommandQueue::Turn& turn) -> Result<Duration> {
    if (!length) return length.status();
    if (!device_.is_realtime_) {
      if (Status status = work(); !status) return status;
    } else {
      Pacer* other = peer == nullptr ? nullptr : &peer->pacer_;
      const auto end = device_.pacer_.copy(from, to, other, *length, turn.start);
      if (Status status = take_turn(turn, end, *length, work); !status) return status;
    }
    device_.pass(*length);
    return *length;
  });
}

template <typename Work>
Status SimQueue::issue_work(Duration length, Work work) {
  return commands_->issue([this, length, work](CommandQueue::Turn& turn) -> Result<Duration> {
    if (!device_.is_realtime_) {
      if (Status status = work(); !status) return status;
    } else {
      const auto end = device_.pacer_.work(length, turn.start);
      if (Status status = take_turn(turn, end, length, work); !status) return status;
    }
    device_.pass(length);
    return length;
  });
}

Status SimQueue::copy_in(std::span<const std::byte> from, DeviceAddress to) {
  if (Status status = device_.memory_.check(to, from.size()); !status) return status;
  return issue_copy("host", device_.space(), nullptr, from.size(), [this, from, to]() -> Status {
    Result<BlockMemory::Access> at = device_.memory_.open(to, from.size());
    if (!at) return at.status();
    if (!from.empty()) std::memcpy(at->data(), from.data(), from.size());
    device_.count(&Traffic::in, from.size());
    return Status::ok();
  });
}

Status SimQueue::copy_out(DeviceAddress from, std::span<std::byte> to) {
  if (Status status = device_.memory_.check(from, to.size()); !status) return status;
  return issue_copy(device_.space(), "host", nullptr, to.size(), [this, from, to]() -> Status {
    Result<BlockMemory::Access> at = device_.memory_.open(from, to.size());
    if (!at) return at.status();
    if (!to.empty()) std::memcpy(to.data(), at->data(), to.size());
    device_.count(&Traffic::out, to.size());
    return Status::ok();
  });
}

Status SimQueue::copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) {
  auto* peer = dynamic_cast<SimDevice*>(&to_device.innermost());
  if (peer == nullptr) return Status::error("`" + to_device.space() + "` is no peer of `" + device_.space() + "`");
  if (Status status = device_.memory_.check(from, bytes); !status) return status;
  if (Status status = peer->memory_.check(to, bytes); !status) return status;
  return issue_copy(device_.space(), peer->space(), peer, bytes, [this, from, peer, to, bytes]() -> Status {
    Result<BlockMemory::Access> from_at = device_.memory_.open(from, bytes);
    if (!from_at) return from_at.status();
    Result<BlockMemory::Access> to_at = peer->memory_.open(to, bytes);
    if (!to_at) return to_at.status();
    if (bytes > 0) std::memmove(to_at->data(), from_at->data(), bytes);
    device_.count(&Traffic::to_peers, bytes);
    return Status::ok();
  });
}

Status SimQueue::reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) {
  return issue_work(duration, [this, from, to] { return emulate_reorder(from, to, device_.memory_); });
}

Status SimQueue::launch(std::span<const DeviceOp> ops, Duration duration) {
  Status fault = device_.launch_faults_.next();
  if (fault) device_.record(ops);
  return issue_work(duration, [this, ops, fault] { return fault ? device_.run(ops) : fault; });
}

}  // namespace collage::runtime
