// SPDX-License-Identifier: Apache-2.0
// What tests of devices work with: every row of runtime/devices/device_list.def as it is, with the attribute
// `realtime = 1`, with which queues of the simulation have threads, and both with transfers checked (devices/faults/).
// A kind that does not know the attribute ignores it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/devices/device.h"
#include "runtime/devices/faults/fault_injector.h"

namespace collage::runtime::test {

inline constexpr size_t kCapacity = 1 << 16;

struct Variant {
  DeviceKind kind;
  bool is_realtime = false;
  bool is_checked = false;

  std::string_view name() const { return kind.name; }
  bool computes() const { return kind.computes; }
  /// For the names of tests: each has another one.
  std::string test_name() const {
    return std::string(name()) + (is_realtime ? "_realtime" : "") + (is_checked ? "_checked" : "");
  }
};

inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const DeviceKind& kind : device_kinds()) {
    for (bool is_checked : {false, true}) {
      all.push_back({kind, false, is_checked});
      all.push_back({kind, true, is_checked});
    }
  }
  return all;
}

inline DeviceSpec spec_of(const Variant& variant, int index) {
  DeviceSpec spec;
  spec.kind = std::string(variant.name());
  spec.copy_queue = true;
  if (variant.is_realtime) spec.attrs.set("realtime", int64_t{1});
  spec.space = "dev[" + std::to_string(index) + "]";
  spec.links.push_back({"host", 1e9, Duration::picoseconds(2'000'000)});
  spec.links.push_back({"dev[" + std::to_string(1 - index) + "]", 1e10, Duration::picoseconds(1'000'000)});
  return spec;
}

inline std::vector<std::byte> pattern(size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed)) % 251);
  return bytes;
}

inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

inline std::vector<float> counted(size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

/// A device with one queue. Every command is waited for, and a failure is forgotten.
class Rig {
 public:
  explicit Rig(std::unique_ptr<Device> made) : device(std::move(made)), queue(open()) {}

  std::unique_ptr<DeviceQueue> open(QueueKind kind = QueueKind::Compute) const {
    Result<std::unique_ptr<DeviceQueue>> opened = device->open_queue(kind);
    EXPECT_TRUE(opened) << (opened ? "" : opened.message());
    return opened ? std::move(*opened) : nullptr;
  }
  Status done(const Status& given) const {
    const Status end = queue->synchronize();
    queue->reset();
    return given ? end : given;
  }
  const std::string& space() const { return device->space(); }
  Result<DeviceAddress> allocate(size_t bytes) const { return device->allocate(bytes); }
  Status free(DeviceAddress address) const { return device->free(address); }
  MemoryInfo memory() const { return device->memory(); }
  Duration now() const { return device->now(); }
  Status copy_in(std::span<const std::byte> from, DeviceAddress to) const { return done(queue->copy_in(from, to)); }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) const { return done(queue->copy_out(from, to)); }
  Status copy_peer(DeviceAddress from, const Rig& peer, DeviceAddress to, size_t bytes) const {
    return done(queue->copy_peer(from, *peer.device, to, bytes));
  }
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) const {
    return done(queue->reorder(from, to, duration));
  }
  Status launch(std::span<const DeviceOp> ops, Duration duration) const { return done(queue->launch(ops, duration)); }

  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceQueue> queue;
};

inline std::unique_ptr<Rig> make_rig(const DeviceSpec& spec, size_t capacity = 0) {
  Result<std::unique_ptr<Device>> device = make_device(spec, capacity);
  EXPECT_TRUE(device) << (device ? "" : device.message());
  return device ? std::make_unique<Rig>(std::move(*device)) : nullptr;
}

class DeviceConformance : public testing::TestWithParam<Variant> {
 protected:
  std::unique_ptr<Rig> make(int index = 0, size_t capacity = kCapacity) {
    std::unique_ptr<Rig> rig = make_rig(spec_of(GetParam(), index), capacity);
    if (!GetParam().is_checked || rig == nullptr) return rig;
    rig->queue.reset();
    return std::make_unique<Rig>(FaultInjector().wrap(std::move(rig->device)));
  }
  DeviceAddress allocate(const Rig& device, size_t bytes) {
    Result<DeviceAddress> address = device.allocate(bytes);
    EXPECT_TRUE(address) << (address ? "" : address.message());
    return address ? *address : 0;
  }
  DeviceTensor put(Rig& device, const std::vector<float>& values, Shape shape, std::string layout = "plain") {
    DeviceAddress address = allocate(device, values.size() * 4);
    EXPECT_TRUE(device.copy_in(bytes_of(values), address));
    return {address, {DType::F32, std::move(shape), {std::move(layout)}}};
  }
  std::vector<float> get(Rig& device, const DeviceTensor& tensor) {
    std::vector<float> values(static_cast<size_t>(element_count(tensor.tensor.shape)));
    EXPECT_TRUE(device.copy_out(tensor.address, std::as_writable_bytes(std::span(values))));
    return values;
  }
};

}  // namespace collage::runtime::test
