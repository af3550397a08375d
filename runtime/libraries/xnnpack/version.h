// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace collage::runtime::xnnpack {

/// Returns the build ID of the XNNPACK that is loaded, in hexadecimal: it has no version number. `unknown` if it has
/// none.
std::string build_id();

}  // namespace collage::runtime::xnnpack
