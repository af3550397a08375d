// SPDX-License-Identifier: Apache-2.0
// The device interface: memory, copies, launches, time. A device owns its memory; no host pointer ever reaches a kernel
// that runs on it. The host is not a Device: the executor calls host kernels itself.
//
// Order: operations on one device start in the order they were issued. `now()` is the device's own clock: for simulated
// devices a discrete-event model, so the same calls give the same times.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

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

class Device {
 public:
  virtual ~Device() = default;
  virtual const std::string& space() const = 0;

  virtual Result<DeviceAddress> allocate(size_t bytes) = 0;
  virtual Status free(DeviceAddress address) = 0;
  virtual Status copy_in(std::span<const std::byte> from, DeviceAddress to) = 0;
  virtual Status copy_out(DeviceAddress from, std::span<std::byte> to) = 0;
  /// To another device over the link between them.
  virtual Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) = 0;
  /// Moves a tensor to another layout or another storage inside the device.
  virtual Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) = 0;
  virtual Status launch(std::span<const DeviceOp> ops, Duration duration) = 0;
  /// Waits until everything that was issued is done.
  virtual Status synchronize() = 0;
  virtual Duration now() const = 0;
  /// True if `now` is simulated time. The executor then counts it instead of the wall time of a step.
  virtual bool is_simulated() const { return false; }
  virtual MemoryInfo memory() const = 0;
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
