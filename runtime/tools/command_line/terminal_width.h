// SPDX-License-Identifier: Apache-2.0
// How wide lines for people may be.
#pragma once

#include <cstddef>

namespace collage::tools {

/// Columns of the terminal that a descriptor leads to; what the variable `COLUMNS` says counts for more. Returns
/// runtime::kUsualWidth where there is no terminal.
size_t terminal_width(int descriptor);

}  // namespace collage::tools
