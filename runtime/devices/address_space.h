// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of the allocated parts of a device's memory: addresses only; the device owns the bytes.
#pragma once

#include <map>

#include "runtime/core/status.h"
#include "runtime/devices/device.h"

namespace collage::runtime {

class AddressSpace {
 public:
  /// `capacity` 0: no limit.
  explicit AddressSpace(size_t capacity) : capacity_(capacity) {}

  /// The lowest free address that fits, a multiple of kTensorAlignment. Zero bytes get a unique address, too.
  Result<DeviceAddress> allocate(size_t bytes);
  Status free(DeviceAddress address);
  /// Fails unless [address, address + bytes) lies inside one allocation.
  Status check(DeviceAddress address, size_t bytes) const;
  /// One past the last byte in use.
  size_t end() const;
  MemoryInfo info() const { return {capacity_, used_, peak_}; }

 private:
  std::map<DeviceAddress, size_t> blocks_;  ///< address -> bytes, rounded up
  size_t capacity_ = 0;
  size_t used_ = 0;
  size_t peak_ = 0;
};

}  // namespace collage::runtime
