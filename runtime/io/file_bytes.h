// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files. A file is written under a temporary name and renamed, so a failure loses nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/core/status.h"

namespace collage::runtime {

/// Message of a failure: `cannot read 'a.npy': No such file or directory`.
Result<std::string> read_file(const std::string& path);

/// Writes the pieces one after another.
Status write_file(const std::string& path, const std::vector<std::span<const char>>& pieces);

}  // namespace collage::runtime
