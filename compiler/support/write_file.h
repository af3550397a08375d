// SPDX-License-Identifier: Apache-2.0
// Writes a temporary file beside the target and renames it: a reader sees the old file or the new one, never a part.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/diagnostic.h"

namespace collage::support {

/// Returns false after a CannotWrite error.
bool write_file(const std::string& path, std::string_view contents, Diagnostics& diags);

}  // namespace collage::support
