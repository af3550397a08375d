// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace collage::place {

/// What a device instance has, as the user or its rule file says.
struct MemoryLimit {
  std::string instance;  ///< `npu[0]`
  size_t bytes = 0;
};

}  // namespace collage::place
