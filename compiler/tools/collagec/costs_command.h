// SPDX-License-Identifier: Apache-2.0
// `collagec costs COMMAND`: measured costs listed, exchanged and removed.
#pragma once

#include <string>

namespace collage::tools {

/// Runs it with the arguments after `collagec`; returns the exit code.
int run_costs_command(int argc, char** argv);

}  // namespace collage::tools
