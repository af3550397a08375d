// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/core/joined.h"
#include "runtime/core/wrapped.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

constexpr size_t kTextColumn = 28;
constexpr size_t kCommandColumn = 17;
/// The words from `column` on, and the end of the last line.
std::string wrap(const std::string& words, size_t column, size_t indent) {
  return runtime::wrapped(words, {column, indent}) + "\n";
}

/// `does this` => `Does this.`
std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

std::string names_and_value(const OptionText& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (option.value.empty()) return text;
  return text + (option.value.starts_with("[=") ? "" : " ") + option.value;
}

void print_option(const OptionText& option, bool is_brief, std::string* text) {
  std::string head = "  " + names_and_value(option);
  const size_t columns = runtime::columns_of(head);
  *text += head;
  *text += columns + 2 > kTextColumn ? "\n" + std::string(kTextColumn, ' ') : std::string(kTextColumn - columns, ' ');
  const std::string& help = is_brief && !option.brief.empty() ? option.brief : option.help;
  *text += wrap(option.initial.empty() ? help : fmt::format("{} (default: {})", help, option.initial), kTextColumn,
                kTextColumn);
}

using Shown = std::function<bool(const OptionText&)>;

/// By group, in the order in which the groups first occur.
void print_groups(const std::vector<OptionText>& options, const Shown& is_shown, bool is_brief, std::string* text) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    std::string shown;
    for (const OptionText& option : options) {
      if (option.group == group && is_shown(option)) print_option(option, is_brief, &shown);
    }
    if (!shown.empty()) *text += "\n" + group + "\n" + shown;
  }
}

void print_head(const ProgramText& program, const std::string& name, std::string* text) {
  *text += fmt::format("Usage: {} {}\n\n", name, program.usage);
  const std::string purpose = sentence(program.purpose);
  *text += wrap(program.details.empty() ? purpose : purpose + " " + program.details, 0, 0);
}

/// `run  compiles a model and runs it`, a line each.
void print_commands(const std::vector<ProgramText>& commands, std::string* text) {
  if (commands.empty()) return;
  *text += "\nCommands\n";
  for (const ProgramText& command : commands) {
    const std::string head = fmt::format("  {:<{}}", command.name, kCommandColumn - 2);
    *text += head + wrap(command.purpose, kCommandColumn, kCommandColumn);
  }
}

}  // namespace

std::string help_text(const ProgramText& program, bool shows_all) {
  std::string text;
  print_head(program, program.name, &text);
  print_commands(program.commands, &text);
  print_groups(
      program.options, [&](const OptionText& option) { return option.is_common || shows_all; }, !shows_all, &text);
  if (!shows_all) return text;
  for (const ProgramText& command : program.commands) {
    std::string own;
    print_groups(
        command.options,
        [&](const OptionText& option) {
          return std::none_of(program.options.begin(), program.options.end(),
                              [&](const OptionText& other) { return other.names == option.names; });
        },
        false, &own);
    if (!own.empty()) text += fmt::format("\n{} {}\n{}", program.name, command.name, own.substr(own.find('\n', 1) + 1));
  }
  return text;
}

std::string command_help(const ProgramText& program, const ProgramText& command) {
  std::string text, names;
  print_head(command, program.name + " " + command.name, &text);
  print_groups(
      command.options, [](const OptionText& option) { return option.is_common; }, false, &text);
  for (const OptionText& option : command.options) {
    if (!option.is_common) runtime::add_to_list(names, option.names.back(), " ");
  }
  if (names.empty()) return text;
  text += fmt::format("\nOptions of most commands (`{} --help-all`)\n  ", program.name);
  return text + wrap(names, 2, 2);
}

}  // namespace collage::tools
