// SPDX-License-Identifier: Apache-2.0
// Programs whose options are declared to CLI11 directly: their description, and the options that print it.
#pragma once

#include "runtime/tools/command_line/program_text.h"

namespace CLI {
class App;
}

namespace collage::tools {

/// Description of the declared options and subcommands. Options of the group "" are hidden.
ProgramText describe(const CLI::App& app);

/// Makes `--help` of the program, and of the subcommands that are added from now on, the page of program_text.h.
void use_help_text(CLI::App& app);

/// The same, and adds `--version` and the hidden flags `--man` and `--bash-completion`, which print and end the parse.
void add_text_flags(CLI::App& app);

}  // namespace collage::tools
