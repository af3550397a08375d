// SPDX-License-Identifier: Apache-2.0
// Files are written beside their place and renamed: a reader sees the old file or the new one, never half of one.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/diagnostic.h"

namespace collage::support {

/// False after a CannotWrite error.
bool write_file(const std::string& path, std::string_view contents, Diagnostics& diags);

}  // namespace collage::support
