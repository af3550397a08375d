// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/sim/sim_queue.h"

#include <cstring>
#include <optional>
#include <thread>

#include "runtime/devices/emulate.h"

namespace collage::runtime {

SimQueue::SimQueue(SimDevice& device)
    : device_(device),
      commands_(CommandQueue::make(device.is_realtime_ ? CommandQueue::Runs::InThread : CommandQueue::Runs::InCaller,
                                   device.faults_)) {}

template <typename Work>
Status SimQueue::issue_copy(const std::string& from, const std::string& to, SimDevice* peer, size_t bytes, Work work) {
  const Status fault = device_.copy_faults_.next();
  const Result<Duration> length =
      fault ? device_.time_of_copy(to == device_.space() ? from : to, bytes) : Result<Duration>(fault);
  return commands_->issue([this, from, to, peer, length, work]() -> Result<Duration> {
    if (!length) return length.status();
    std::optional<Pacer::Clock::time_point> end;
    if (device_.is_realtime_) end = device_.pacer_.copy(from, to, peer == nullptr ? nullptr : &peer->pacer_, *length);
    work();
    if (end) std::this_thread::sleep_until(*end);
    device_.pass(*length);
    return *length;
  });
}

template <typename Work>
Status SimQueue::issue_work(Duration length, Work work) {
  return commands_->issue([this, length, work]() -> Result<Duration> {
    std::optional<Pacer::Clock::time_point> end;
    if (device_.is_realtime_) end = device_.pacer_.work(length);
    if (Status status = work(); !status) return status;
    if (end) std::this_thread::sleep_until(*end);
    device_.pass(length);
    return length;
  });
}

Status SimQueue::copy_in(std::span<const std::byte> from, DeviceAddress to) {
  Result<std::byte*> at = device_.memory_.at(to, from.size());
  if (!at) return at.status();
  return issue_copy("host", device_.space(), nullptr, from.size(), [from, at = *at] {
    if (!from.empty()) std::memcpy(at, from.data(), from.size());
  });
}

Status SimQueue::copy_out(DeviceAddress from, std::span<std::byte> to) {
  Result<std::byte*> at = device_.memory_.at(from, to.size());
  if (!at) return at.status();
  return issue_copy(device_.space(), "host", nullptr, to.size(), [to, at = *at] {
    if (!to.empty()) std::memcpy(to.data(), at, to.size());
  });
}

Status SimQueue::copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) {
  auto* peer = dynamic_cast<SimDevice*>(&to_device);
  if (peer == nullptr) return Status::error("`" + to_device.space() + "` is no peer of `" + device_.space() + "`");
  Result<std::byte*> from_at = device_.memory_.at(from, bytes);
  if (!from_at) return from_at.status();
  Result<std::byte*> to_at = peer->memory_.at(to, bytes);
  if (!to_at) return to_at.status();
  return issue_copy(device_.space(), peer->space(), peer, bytes, [from_at = *from_at, to_at = *to_at, bytes] {
    if (bytes > 0) std::memmove(to_at, from_at, bytes);
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
