// SPDX-License-Identifier: Apache-2.0
// Memory of a device that the host stands for, apart from the host's own: each block is a mapping with an
// inaccessible page on either side, the second one right after its last byte. The block itself can be touched
// only through an Access, as long as it lives: for the time of one command.
//
//     ┆ guard ┆ padding, block ┆ guard ┆
//
// So an address of the device is never a pointer of the host, and what reads or writes device memory by mistake, from
// host code or after the end of a block, ends the process there instead of going unnoticed.
//
// A block that was allocated never moves, so that commands of one thread run while others allocate. Functions may be
// called by several threads at once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "runtime/devices/address_space.h"

namespace collage::runtime {

class BlockMemory {
 public:
  class Block;

  /// Bytes of a block that may be read and written.
  class Access {
   public:
    Access() = default;
    /// Expects a block that was opened for it.
    Access(std::shared_ptr<Block> block, std::byte* data);
    Access(Access&&) = default;
    Access& operator=(Access&&) = default;

    std::byte* data() const { return data_; }

   private:
    std::shared_ptr<Block> block_;  ///< closes it
    std::byte* data_ = nullptr;
  };

  /// `capacity` 0: no limit.
  explicit BlockMemory(size_t capacity) : addresses_(capacity) {}

  /// The memory is zero.
  Result<DeviceAddress> allocate(size_t bytes);
  Status free(DeviceAddress address);
  /// Fails unless [address, address + bytes) lies inside one allocation.
  Status check(DeviceAddress address, size_t bytes) const;
  /// The same, and where the host has these bytes. They stay there as long as the Access lives, even if they are freed.
  Result<Access> open(DeviceAddress address, size_t bytes) const;
  /// Device::checksum.
  std::optional<uint64_t> checksum(DeviceAddress address, size_t bytes) const;
  MemoryInfo info() const;

 private:
  mutable std::shared_mutex mutex_;
  AddressSpace addresses_;
  std::map<DeviceAddress, std::shared_ptr<Block>> blocks_;
};

}  // namespace collage::runtime
