// SPDX-License-Identifier: Apache-2.0
// The description of a program's command line, printed as its help, as a manual page and as a bash completion.
#pragma once

#include <string>
#include <vector>

namespace collage::tools {

struct OptionText {
  std::vector<std::string> names;  ///< `-o`, `--output`; the name of a positional argument: `MODEL`
  std::string value;               ///< `FILE`; empty: a flag
  std::string help;
  std::string initial;               ///< the default; empty: there is none
  std::string group;                 ///< heading under which it is shown
  bool is_common = true;             ///< `--help` shows it; `--help-all` shows every option
  std::vector<std::string> choices;  ///< values that the completion offers
  std::string brief{};               ///< what the page of `--help` says in place of `help`; empty: `help`
};

struct ProgramText {
  std::string name;
  std::string purpose;  ///< as after the name: `checks and formats rule files`
  std::string details;  ///< more sentences, or none
  std::string usage;    ///< what follows the name: `MODEL [-r RULES…] [OPTION…]`
  std::vector<OptionText> options;
  std::vector<ProgramText> commands;  ///< subcommands
};

/// Options by group, in the order in which the groups first occur. `shows_all`: also those that are not common, and
/// those of the commands.
std::string help_text(const ProgramText& program, bool shows_all);

/// The help of one command of a program; options that are not common by name alone.
std::string command_help(const ProgramText& program, const ProgramText& command);

/// A page of section 1 in the `man` macros of troff.
std::string man_page(const ProgramText& program);

/// A script for bash to source. Values of options with `choices` complete to these, others to files.
std::string bash_completion(const ProgramText& program);

/// The exit codes, which all programs share. kNotProven: a certificate holds, and claims more than it proves.
enum ExitCode { kSuccess = 0, kInputError = 1, kWrongUsage = 2, kInternalError = 3, kNotProven = 4 };
inline constexpr const char* kExitCodes =
    "0 success, 1 an error in the input, 2 wrong usage, 3 an internal error, "
    "4 a certificate holds and claims more than it proves";

}  // namespace collage::tools
