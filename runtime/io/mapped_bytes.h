// SPDX-License-Identifier: Apache-2.0
// Bytes of a file as read-only memory. They stay valid when the file is replaced or removed; a program that shortens
// it in place ends the process at the next touch of what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::runtime {

enum class Paging : uint8_t {
  AtOnce,      ///< all is read now
  WhenTouched  ///< the system reads what is used, and may take back what was
};

/// Expects that the file has these bytes. Message of a failure: `cannot be mapped: Cannot allocate memory`.
Result<std::shared_ptr<const std::byte>> map_bytes(const Descriptor& file, uint64_t offset, size_t bytes,
                                                   Paging paging);

}  // namespace collage::runtime
