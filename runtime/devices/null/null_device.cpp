// SPDX-License-Identifier: Apache-2.0
// The skeleton of a device: it stores bytes and refuses to compute. README.md in this folder says how to clone it.
#include <cstring>
#include <exception>
#include <vector>

#include "runtime/devices/address_space.h"

namespace collage::runtime {
namespace {

class NullDevice : public Device {
 public:
  NullDevice(const DeviceSpec& spec, size_t capacity) : space_(spec.space), addresses_(capacity) {}

  const std::string& space() const override { return space_; }

  // README step 2: memory.
  Result<DeviceAddress> allocate(size_t bytes) override {
    Result<DeviceAddress> address = addresses_.allocate(bytes);
    if (!address || addresses_.end() <= memory_.size()) return address;
    try {
      memory_.resize(addresses_.end());
    } catch (const std::exception&) {
      (void)addresses_.free(*address);
      return Status::error("no memory for " + std::to_string(bytes) + " bytes of `" + space_ + "`");
    }
    return address;
  }
  Status free(DeviceAddress address) override { return addresses_.free(address); }
  MemoryInfo memory() const override { return addresses_.info(); }

  // README step 3: copies.
  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    if (Status status = addresses_.check(to, from.size()); !status) return status;
    if (!from.empty()) std::memcpy(memory_.data() + to, from.data(), from.size());
    return Status::ok();
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    if (Status status = addresses_.check(from, to.size()); !status) return status;
    if (!to.empty()) std::memcpy(to.data(), memory_.data() + from, to.size());
    return Status::ok();
  }
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override {
    if (Status status = addresses_.check(from, bytes); !status) return status;
    return to_device.copy_in({memory_.data() + from, bytes}, to);
  }

  // README step 4: work.
  Status reorder(const DeviceTensor&, const DeviceTensor&, Duration) override { return refuse(); }
  Status launch(std::span<const DeviceOp>, Duration) override { return refuse(); }

  // README step 5: time.
  Status synchronize() override { return Status::ok(); }
  Duration now() const override { return Duration(); }

 private:
  Status refuse() const { return Status::error("`" + space_ + "` is a null device: it computes nothing"); }

  std::string space_;
  AddressSpace addresses_;
  std::vector<std::byte> memory_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_null_device(const DeviceSpec& spec, size_t capacity) {
  return std::unique_ptr<Device>(std::make_unique<NullDevice>(spec, capacity));
}

}  // namespace collage::runtime
