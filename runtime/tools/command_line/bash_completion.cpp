// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/joined.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

/// Names with a dash: what completes a word that begins with one.
std::string flags_of(const ProgramText& program) {
  std::string flags;
  for (const OptionText& option : program.options) {
    for (const std::string& name : option.names) {
      if (name.starts_with('-')) runtime::add_to_list(flags, name, " ");
    }
  }
  return flags;
}

/// A branch for each option that takes one of some words.
std::string branches_for_choices(const ProgramText& program) {
  std::string text;
  for (const OptionText& option : program.options) {
    if (option.choices.empty()) continue;
    text += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;\n",
                        fmt::join(option.names, "|"), fmt::join(option.choices, " "));
  }
  return text;
}

/// Whether a word without a dash may be something else than a command.
bool takes_file(const ProgramText& program) {
  return std::any_of(program.options.begin(), program.options.end(),
                     [](const OptionText& option) { return !option.names.front().starts_with('-'); });
}

std::string branches_for_commands(const ProgramText& program) {
  std::string text;
  for (const ProgramText& command : program.commands) {
    text += fmt::format("    {}) flags=\"{}\" ;;\n", command.name, flags_of(command));
  }
  return text;
}

}  // namespace

std::string bash_completion(const ProgramText& program) {
  std::string function = "_" + program.name;
  std::replace(function.begin(), function.end(), '-', '_');
  std::string commands;
  for (const ProgramText& command : program.commands) runtime::add_to_list(commands, command.name, " ");
  std::string text = fmt::format("# bash completion for {}; written by `{} --bash-completion`\n{}() {{\n", program.name,
                                 program.name, function);
  // Bash splits `--emit=plan` into three words.
  text +=
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  if [[ $before == = ]]; then before=\"${COMP_WORDS[COMP_CWORD-2]}\"; elif [[ $word == = ]]; then word=; fi\n";
  text += fmt::format("  local flags=\"{}\"\n", flags_of(program));
  if (std::string branches = branches_for_choices(program); !branches.empty()) {
    text += "  case \"$before\" in\n" + branches + "  esac\n";
  }
  if (!commands.empty()) {
    text += "  case \"${COMP_WORDS[1]}\" in\n" + branches_for_commands(program) + "  esac\n";
    text += fmt::format(
        "  if [[ $COMP_CWORD == 1 && $word != -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\"){}); return; "
        "fi\n",
        commands, takes_file(program) ? " $(compgen -f -- \"$word\")" : "");
  }
  text +=
      "  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\n";
  return text + fmt::format("complete -o filenames -F {} {}\n", function, program.name);
}

}  // namespace collage::tools
