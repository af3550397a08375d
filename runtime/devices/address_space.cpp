// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/address_space.h"

#include <algorithm>

#include "runtime/core/room.h"

namespace collage::runtime {

Result<DeviceAddress> AddressSpace::allocate(size_t bytes) {
  size_t size = room_for(bytes);
  size_t limit = capacity_ != 0 ? capacity_ : SIZE_MAX / 2;
  DeviceAddress at = 0;
  for (const auto& [address, length] : blocks_) {
    if (address - at >= size) break;
    at = address + length;
  }
  if (size > limit || at > limit - size) {
    return Status::error("out of device memory: " + std::to_string(bytes) + " bytes asked for, " +
                         std::to_string(used_) + " of " + std::to_string(limit) + " in use");
  }
  blocks_[at] = size;
  used_ += size;
  peak_ = std::max(peak_, used_);
  return at;
}

Status AddressSpace::free(DeviceAddress address) {
  auto block = blocks_.find(address);
  if (block == blocks_.end()) return Status::error("address " + std::to_string(address) + " is not allocated");
  used_ -= block->second;
  blocks_.erase(block);
  return Status::ok();
}

Status AddressSpace::check(DeviceAddress address, size_t bytes) const {
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin()) {
    --block;
    size_t offset = address - block->first;
    if (offset <= block->second && bytes <= block->second - offset) return Status::ok();
  }
  std::string text = std::to_string(bytes) + " bytes at address " + std::to_string(address);
  if (address < end()) return Status::error(text + " are outside the allocated memory");
  return Status::error(text + " are outside the allocated memory, which ends at " + std::to_string(end()) +
                       ": an address counts bytes of the device, and is no pointer of the host");
}

size_t AddressSpace::end() const {
  return blocks_.empty() ? 0 : blocks_.rbegin()->first + blocks_.rbegin()->second;
}

}  // namespace collage::runtime
