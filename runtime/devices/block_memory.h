// SPDX-License-Identifier: Apache-2.0
// Memory of a device that the host stands for. A block that was allocated never moves, so that commands of one thread
// run while others allocate. Functions may be called by several threads at once.
#pragma once

#include <map>
#include <shared_mutex>

#include "runtime/devices/address_space.h"

namespace collage::runtime {

class BlockMemory {
 public:
  /// `capacity` 0: no limit.
  explicit BlockMemory(size_t capacity) : addresses_(capacity) {}

  /// The memory is zero.
  Result<DeviceAddress> allocate(size_t bytes);
  Status free(DeviceAddress address);
  /// Where the host has [address, address + bytes). Fails unless it lies inside one allocation.
  Result<std::byte*> at(DeviceAddress address, size_t bytes) const;
  /// Device::checksum.
  std::optional<uint64_t> checksum(DeviceAddress address, size_t bytes) const;
  MemoryInfo info() const;

 private:
  mutable std::shared_mutex mutex_;
  AddressSpace addresses_;
  std::map<DeviceAddress, Tensor> blocks_;
};

}  // namespace collage::runtime
