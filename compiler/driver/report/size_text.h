// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace collage::driver {

/// `16 KiB`, `70.5 MiB`: four digits, for people.
std::string size_text(size_t bytes);

}  // namespace collage::driver
