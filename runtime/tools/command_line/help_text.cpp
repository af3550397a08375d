// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/core/joined.h"
#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

constexpr size_t kTextColumn = 28;
constexpr size_t kCommandColumn = 17;
constexpr size_t kLineWidth = 100;

/// Columns that UTF-8 text takes on a terminal: continuation bytes take none.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Appends words from `column` on, each line after the first indented.
void wrap(const std::string& words, size_t column, size_t indent, std::string* text) {
  size_t at = 0;
  while (at < words.size()) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    if (at > 0 && column + 1 + width_of(word) > kLineWidth) {
      *text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (at > 0) {
      *text += " ";
      ++column;
    }
    *text += word;
    column += width_of(word);
    at = end + 1;
  }
  *text += "\n";
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

void print_option(const OptionText& option, std::string* text) {
  std::string head = "  " + names_and_value(option);
  if (width_of(head) + 2 > kTextColumn) {
    *text += head + "\n" + std::string(kTextColumn, ' ');
  } else {
    *text += head + std::string(kTextColumn - width_of(head), ' ');
  }
  wrap(option.initial.empty() ? option.help : fmt::format("{} (default: {})", option.help, option.initial), kTextColumn,
       kTextColumn, text);
}

using Shown = std::function<bool(const OptionText&)>;

/// By group, in the order in which the groups first occur.
void print_groups(const std::vector<OptionText>& options, const Shown& is_shown, std::string* text) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    std::string shown;
    for (const OptionText& option : options) {
      if (option.group == group && is_shown(option)) print_option(option, &shown);
    }
    if (!shown.empty()) *text += "\n" + group + "\n" + shown;
  }
}

void print_head(const ProgramText& program, const std::string& name, std::string* text) {
  *text += fmt::format("Usage: {} {}\n\n", name, program.usage);
  const std::string purpose = sentence(program.purpose);
  wrap(program.details.empty() ? purpose : purpose + " " + program.details, 0, 0, text);
}

/// `run  compiles a model and runs it`, a line each.
void print_commands(const std::vector<ProgramText>& commands, std::string* text) {
  if (commands.empty()) return;
  *text += "\nCommands\n";
  for (const ProgramText& command : commands) {
    const std::string head = fmt::format("  {:<{}}", command.name, kCommandColumn - 2);
    *text += head;
    wrap(command.purpose, kCommandColumn, kCommandColumn, text);
  }
}

}  // namespace

std::string help_text(const ProgramText& program, bool shows_all) {
  std::string text;
  print_head(program, program.name, &text);
  print_commands(program.commands, &text);
  print_groups(
      program.options, [&](const OptionText& option) { return option.is_common || shows_all; }, &text);
  if (!shows_all) return text;
  for (const ProgramText& command : program.commands) {
    std::string own;
    print_groups(
        command.options,
        [&](const OptionText& option) {
          return std::none_of(program.options.begin(), program.options.end(),
                              [&](const OptionText& other) { return other.names == option.names; });
        },
        &own);
    if (!own.empty()) text += fmt::format("\n{} {}\n{}", program.name, command.name, own.substr(own.find('\n', 1) + 1));
  }
  return text;
}

std::string command_help(const ProgramText& program, const ProgramText& command) {
  std::string text, names;
  print_head(command, program.name + " " + command.name, &text);
  print_groups(
      command.options, [](const OptionText& option) { return option.is_common; }, &text);
  for (const OptionText& option : command.options) {
    if (!option.is_common) runtime::add_to_list(names, option.names.back(), " ");
  }
  if (names.empty()) return text;
  text += fmt::format("\nOptions of most commands (`{} --help-all`)\n  ", program.name);
  wrap(names, 2, 2, &text);
  return text;
}

}  // namespace collage::tools
