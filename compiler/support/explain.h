// SPDX-License-Identifier: Apache-2.0
// `--explain CODE` of every tool.
#pragma once

#include <string>

#include "compiler/support/diagnostic.h"

namespace collage::support {

/// What a diagnostic means, an example of what causes it, and how to mend that.
std::string explanation(Code code);

/// Prints what a diagnostic means, by its code or name. False, and an error with the nearest name, where there is none.
bool explain(const std::string& code);

}  // namespace collage::support
