// SPDX-License-Identifier: Apache-2.0
// `--explain CODE` of every tool.
#pragma once

#include <string>

#include "runtime/support/diagnostic.h"

namespace collage::support {

/// Returns what a diagnostic means, an example of what causes it, and how to fix it.
std::string explanation(Code code);

/// Prints the explanation of a diagnostic, given its code or name. Returns false, after an error that names the nearest
/// one, if there is no such diagnostic.
bool explain(const std::string& code);

}  // namespace collage::support
