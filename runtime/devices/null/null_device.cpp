// SPDX-License-Identifier: Apache-2.0
// The skeleton of a device: it stores bytes and refuses to compute. README.md in this folder says how to clone it.
#include <cstring>

#include "runtime/devices/block_memory.h"
#include "runtime/devices/blocking_device.h"

namespace collage::runtime {
namespace {

class NullDevice : public BlockingDevice {
 public:
  NullDevice(const DeviceSpec& spec, size_t capacity) : space_(spec.space), memory_(capacity) {}

  const std::string& space() const override { return space_; }

  // README step 2: memory.
  Result<DeviceAddress> allocate(size_t bytes) override { return memory_.allocate(bytes); }
  Status free(DeviceAddress address) override { return memory_.free(address); }
  MemoryInfo memory() const override { return memory_.info(); }

  // README step 3: copies.
  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    Result<BlockMemory::Access> at = memory_.open(to, from.size());
    if (!at) return at.status();
    if (!from.empty()) std::memcpy(at->data(), from.data(), from.size());
    return Status::ok();
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    Result<BlockMemory::Access> at = memory_.open(from, to.size());
    if (!at) return at.status();
    if (!to.empty()) std::memcpy(to.data(), at->data(), to.size());
    return Status::ok();
  }
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override {
    Result<BlockMemory::Access> at = memory_.open(from, bytes);
    if (!at) return at.status();
    return copy_into(to_device, {at->data(), bytes}, to);
  }

  // README step 4: work.
  Status reorder(const DeviceTensor&, const DeviceTensor&, Duration) override { return refuse(); }
  Status launch(std::span<const DeviceOp>, Duration) override { return refuse(); }

  // README step 5: queues are those of BlockingDevice.

 private:
  Status refuse() const { return Status::error("`" + space_ + "` is a null device: it computes nothing"); }

  std::string space_;
  BlockMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_null_device(const DeviceSpec& spec, size_t capacity) {
  return std::unique_ptr<Device>(std::make_unique<NullDevice>(spec, capacity));
}

}  // namespace collage::runtime
