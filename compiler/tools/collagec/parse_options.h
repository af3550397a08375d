// SPDX-License-Identifier: Apache-2.0
// From the command line of `collagec` to options, by the rows of the option table.
#pragma once

#include <string>
#include <variant>

#include "compiler/tools/collagec/option_table.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {

/// The command line is wrong: one sentence that says how.
struct WrongUsage {
  std::string message;
};

std::variant<CommandLine, WrongUsage> parse_command_line(int argc, char** argv);

/// The program and its options for help, manual page and completion.
ProgramText describe_collagec();

}  // namespace collage::tools
