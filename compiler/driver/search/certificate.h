// SPDX-License-Identifier: Apache-2.0
// `--certificate FILE`: what `collage-check-certificate` judges (certificate/certificate_file.h).
#pragma once

#include <string>

#include "compiler/driver/search/find_placement.h"

namespace collage::driver {

/// False after a CannotWrite error.
bool write_certificate(const std::string& path, const SearchInput& input, const place::Solution& solution,
                       support::Diagnostics& diags);

}  // namespace collage::driver
