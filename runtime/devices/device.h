// SPDX-License-Identifier: Apache-2.0
// The device interface: memory, queues of commands, events, time, faults. A device owns its memory; no host pointer
// ever reaches a kernel that runs on it. The host is not a Device: the executor calls host kernels itself.
//
// A command is given to a queue and may still run when the call returns. A queue runs its commands in the order in
// which they were given; queues run beside each other and beside the host. An event is a point in a queue:
//
//     copy in   copy_in a    record e1
//     compute   wait e1      launch a -> b    record e2
//     host      other work ...                e2->wait()
//
// Failures: a command that cannot be right is refused at once, or fails when it runs; which of both is the device's
// choice. After a failure the queue runs nothing more, and every event recorded after it has that failure, until
// `reset`. Other queues go on.
//
// Threads: functions of a device and of events may be called by several threads at once, those of one queue by one
// thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

using WallTime = std::chrono::steady_clock::time_point;

/// An address in a device's memory: bytes from its start.
using DeviceAddress = size_t;

/// A tensor in a device's memory.
struct DeviceTensor {
  DeviceAddress address = 0;
  StoredTensor tensor{};
  bool is_absent = false;
};

/// One operator of a launch.
struct DeviceOp {
  const OpCall* call = nullptr;
  std::vector<DeviceTensor> inputs;
  std::vector<DeviceTensor> outputs;
  const LoweringCall* lowering = nullptr;  ///< what its rule asks for; operators of one call have the same pointer
};

struct MemoryInfo {
  size_t capacity = 0;  ///< 0: no limit
  size_t used = 0;
  size_t peak = 0;
};

/// Bytes that copies have moved since the device was made, each counted by the device whose queue moved it.
struct Traffic {
  size_t in = 0;        ///< from the host
  size_t out = 0;       ///< to the host
  size_t to_peers = 0;  ///< to other devices, past the host

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// Commands that failed since the device was made.
struct FaultInfo {
  size_t count = 0;
  std::string last{};  ///< why the last one failed
};

/// What the commands of a queue mostly do. Queues of one kind share the part of the device that does it.
enum class QueueKind { Compute, CopyIn, CopyOut };

/// A point in a queue: reached when all commands before it are done. Lives as long as anyone refers to it.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool is_reached() const = 0;
  /// Waits until it is reached. Returns the failure of the queue there.
  virtual Status wait() const = 0;
  /// Time that all commands of the queue before it took, since the queue was opened: simulated time on a simulated
  /// device, measured time on others. Only after it is reached.
  virtual Duration clock() const = 0;
  /// When it was reached. The simulated time of a device may be wall time; then this is when that time ended, which the
  /// host learns a little later. Only after it is reached. Zero where it is unknown.
  virtual WallTime reached_at() const { return {}; }
};
using EventRef = std::shared_ptr<const Event>;

class Device;

/// What commands are given stays as it is until they are done: host memory, operators, tensors.
class DeviceQueue {
 public:
  /// Waits until everything that was given is done.
  virtual ~DeviceQueue() = default;

  virtual Status copy_in(std::span<const std::byte> from, DeviceAddress to) = 0;
  virtual Status copy_out(DeviceAddress from, std::span<std::byte> to) = 0;
  /// To another device, over the link between them.
  virtual Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) = 0;
  /// Moves a tensor to another layout or another storage inside the device.
  virtual Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) = 0;
  virtual Status launch(std::span<const DeviceOp> ops, Duration duration) = 0;

  /// Later commands start after the event, of any queue of any device, is reached. If it has a failure, so has this
  /// queue.
  virtual Status wait(const EventRef& event) = 0;
  /// The point after everything that was given so far.
  virtual EventRef record() = 0;
  /// Waits until everything that was given is done. Returns the failure of the queue.
  virtual Status synchronize() = 0;
  /// Waits, then forgets the failure.
  virtual void reset() = 0;
  /// True where `wait`, or what is given after it, holds up the caller until the event is reached.
  virtual bool waits_in_caller() const { return false; }
};

/// Outlives its queues.
class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& space() const = 0;

  /// A multiple of kTensorAlignment. Zero bytes get a unique address, too.
  virtual Result<DeviceAddress> allocate(size_t bytes) = 0;
  /// Expects that no command that uses the memory is still to be done.
  virtual Status free(DeviceAddress address) = 0;
  virtual MemoryInfo memory() const = 0;
  virtual Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) = 0;
  virtual FaultInfo faults() const = 0;
  /// Simulated time of all commands that were done; zero on other devices.
  virtual Duration now() const = 0;
  /// True if the clock of events is simulated time.
  virtual bool is_simulated() const { return false; }
  /// True once it is gone for good: nothing that is given to it will be done. Its memory can still be given back.
  virtual bool is_lost() const { return false; }
  /// A run that used it failed and goes no further: what others would wait for does not come. Commands that were given
  /// and would wait for that end soon.
  virtual void abandon(const Status&) {}
  /// Checksum of bytes in the device's memory (core/checksum.h), computed where the bytes lie: they cross no link.
  /// Expects that the commands which write them are done. Returns nullopt where the device cannot, or there are no such
  /// bytes.
  virtual std::optional<uint64_t> checksum(DeviceAddress, size_t) const { return std::nullopt; }
  /// Zeros on devices that do not count.
  virtual Traffic traffic() const { return {}; }
  /// Devices of one machine wait for each other on the links that they share, if they take their time in wall time.
  /// Called for each device with all that were made before, before queues are opened.
  virtual void share_links(Device&) {}
  /// The device that has the memory and the queues: another one where this one only watches over it.
  virtual Device& innermost() { return *this; }
  /// One line per lowering call of the launches so far, with its numbers and strings. Devices may keep no lines, or
  /// only the first ones.
  virtual std::vector<std::string> log() const { return {}; }
};

/// Makes the device that `spec` describes (its kind is a row of devices/device_list.def). `capacity` 0: no limit.
Result<std::unique_ptr<Device>> make_device(const DeviceSpec& spec, size_t capacity);

/// A row of devices/device_list.def.
struct DeviceKind {
  std::string_view name;
  bool computes = false;  ///< launches do work; otherwise they are refused
};

/// All rows, in their order.
std::vector<DeviceKind> device_kinds();

/// Time of one copy over a link: latency + bytes / bandwidth. Compiler and simulation share this formula.
Duration transfer_time(const DeviceSpec::Link& link, size_t bytes);

}  // namespace collage::runtime
