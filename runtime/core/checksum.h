// SPDX-License-Identifier: Apache-2.0
// What the two ends of a transfer compare: XXH3, 64 bits. It finds damage; it is no signature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace collage::runtime {

uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace collage::runtime
