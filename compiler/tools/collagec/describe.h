// SPDX-License-Identifier: Apache-2.0
// What `collagec` says of itself: help, manual page and completion, from the tables of commands and options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/tools/collagec/parse_options.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {

/// `collagec help bench` is `collagec bench --help`.
inline constexpr std::string_view kHelpWord = "help";

/// What an option of every command asks for: `--help`. Returns nullopt for other options.
std::optional<Information::Kind> find_information(std::string_view flag);

/// The program and its commands.
ProgramText describe_collagec();
/// One command; options that most commands have are not common ones of it.
ProgramText describe(request::CommandName command);

/// Words of all commands, of those that work on no model as well.
std::vector<std::string> all_command_words();

}  // namespace collage::tools
