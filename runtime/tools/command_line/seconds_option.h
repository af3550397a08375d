// SPDX-License-Identifier: Apache-2.0
// An option that takes a time, for all programs.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace collage::tools {

/// Declares `FLAG SECONDS`: a number from 0 to 1e6, fractions too. The initial value of `seconds` is the default.
void add_seconds(CLI::App& app, const std::string& flag, double& seconds, const std::string& help);

}  // namespace collage::tools
