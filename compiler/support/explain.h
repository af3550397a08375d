// SPDX-License-Identifier: Apache-2.0
// `--explain CODE` of every tool.
#pragma once

#include <string>

namespace collage::support {

/// Prints what a diagnostic means, by its code or name. False, and an error with the nearest name, where there is none.
bool explain(const std::string& code);

}  // namespace collage::support
