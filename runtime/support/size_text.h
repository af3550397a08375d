// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace collage::support {

/// `16 KiB`, `70.5 MiB`, `79.1 GiB`: four digits, for people.
std::string size_text(size_t bytes);

}  // namespace collage::support
