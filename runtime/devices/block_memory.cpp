// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/block_memory.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "runtime/core/checked_size.h"
#include "runtime/core/checksum.h"

namespace collage::runtime {

Result<DeviceAddress> BlockMemory::allocate(size_t bytes) {
  std::unique_lock lock(mutex_);
  Result<DeviceAddress> address = addresses_.allocate(bytes);
  if (!address) return address;
  try {
    const size_t whole = align_up(std::max<size_t>(bytes, 1), kTensorAlignment);
    blocks_.insert_or_assign(*address, Tensor(DType::U8, {static_cast<int64_t>(whole)}));
  } catch (const std::exception&) {  // this machine has less memory than the device
    (void)addresses_.free(*address);
    return Status::error("the host has no memory for " + std::to_string(bytes) + " bytes of the device");
  }
  return address;
}

Status BlockMemory::free(DeviceAddress address) {
  std::unique_lock lock(mutex_);
  Status status = addresses_.free(address);
  if (status) blocks_.erase(address);
  return status;
}

Result<std::byte*> BlockMemory::at(DeviceAddress address, size_t bytes) const {
  std::shared_lock lock(mutex_);
  if (Status status = addresses_.check(address, bytes); !status) return status;
  const auto block = std::prev(blocks_.upper_bound(address));
  return block->second.data() + (address - block->first);
}

std::optional<uint64_t> BlockMemory::checksum(DeviceAddress address, size_t bytes) const {
  const Result<std::byte*> first = at(address, bytes);
  if (!first) return std::nullopt;
  return runtime::checksum({*first, bytes});
}

MemoryInfo BlockMemory::info() const {
  std::shared_lock lock(mutex_);
  return addresses_.info();
}

}  // namespace collage::runtime
