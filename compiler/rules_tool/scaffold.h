// SPDX-License-Identifier: Apache-2.0
// `collage-rules new BACKEND`: a rule file to start from, on a simulated device, with rules, tests and what each line
// is for. It passes `check` and `test --mutate` as it is.
#pragma once

#include <string>

#include "runtime/support/diagnostic.h"

namespace collage::rules_tool {

/// The text of the file. `name` is a name of the rule language.
std::string scaffold(const std::string& name);

/// Writes `FOLDER/NAME.rules` and says what to do next. False after an error: a bad name, or a file that exists.
bool make_backend(const std::string& name, const std::string& folder, support::Diagnostics& diags);

}  // namespace collage::rules_tool
