// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/describe.h"

#include "compiler/request/option_values.h"

namespace collage::tools {
namespace {

using request::Choice;
using request::CommandName;
using request::CommandRow;
using request::Group;
using request::OptionRow;
using Kind = Information::Kind;

std::string_view heading(Group group) {
  switch (group) {
    case Group::Arguments: return "Arguments";
    case Group::Input: return "Input";
    case Group::Placing: return "Placing";
    case Group::Quantising: return "Quantising";
    case Group::Host: return "Host";
    case Group::Costs: return "Costs";
    case Group::Running: return "Running";
    case Group::Output: return "Output";
  }
  return "";
}

/// Those of most commands: the help of one command names them only.
bool is_shared(const OptionRow& row) {
  return row.group != Group::Arguments && row.group != Group::Running && row.group != Group::Output;
}

struct InformationRow {
  Kind kind;
  std::string_view flags;
  std::string_view value;
  std::string_view help;
};

constexpr InformationRow kInformation[] = {
    {Kind::Help, "-h,--help", "", "print this; `collagec help COMMAND` prints the help of a command"},
    {Kind::HelpAll, "--help-all", "", "print all options"},
    {Kind::Explain, "--explain", "CODE", "explain a diagnostic: CG0102"},
    {Kind::Version, "--version", "", "print the version"},
    {Kind::Man, "--man", "", "print the manual page"},
    {Kind::BashCompletion, "--bash-completion", "", "print a completion script for bash"},
};

/// Commands that work on no model: backends_command.h, costs_command.h, measure_links_command.h.
constexpr std::pair<std::string_view, std::string_view> kOtherCommands[] = {
    {"backends", "lists the backends of rule files: which run here, and which are models of chips"},
    {"costs", "lists, exchanges and removes measured costs"},
    {"measure-links", "measures the links between the hosts of a cluster, under mpirun"},
};

std::vector<std::string> names_in(std::string_view flags) {
  std::vector<std::string> names;
  while (!flags.empty()) {
    const size_t comma = flags.find(',');
    names.emplace_back(flags.substr(0, comma));
    flags = comma == std::string_view::npos ? "" : flags.substr(comma + 1);
  }
  return names;
}

OptionText text_of(const OptionRow& row, bool is_common) {
  OptionText text;
  text.names = names_in(row.flags);
  if (!is_positional(row)) text.value = row.value;
  text.help = row.help;
  text.brief = row.brief;
  text.initial = initial_text(row);
  text.group = heading(row.group);
  text.is_common = is_common;
  for (const Choice& choice : row.choices) text.choices.emplace_back(choice.word);
  text.choices.insert(text.choices.end(), row.suggestions.begin(), row.suggestions.end());
  return text;
}

void add_information(ProgramText& text) {
  for (const InformationRow& row : kInformation) {
    const bool is_common =
        row.kind == Kind::Help || row.kind == Kind::HelpAll || row.kind == Kind::Explain || row.kind == Kind::Version;
    text.options.push_back(
        {names_in(row.flags), std::string(row.value), std::string(row.help), "", "Help", is_common, {}});
  }
}

}  // namespace

std::optional<Kind> find_information(std::string_view flag) {
  for (const InformationRow& row : kInformation) {
    for (const std::string& name : names_in(row.flags)) {
      if (name == flag) return row.kind;
    }
  }
  return std::nullopt;
}

std::vector<std::string> all_command_words() {
  std::vector<std::string> words;
  for (const CommandRow& row : request::command_table()) {
    if (!row.word.empty()) words.emplace_back(row.word);
  }
  for (const auto& [word, purpose] : kOtherCommands) words.emplace_back(word);
  words.emplace_back(kHelpWord);
  return words;
}

ProgramText describe(CommandName command) {
  const CommandRow& about = request::row_of(command);
  ProgramText text;
  text.name = about.word;
  text.purpose = about.purpose;
  text.details = about.details;
  text.usage = std::string(about.arguments) + " [OPTION…]";
  for (const OptionRow& row : request::option_table()) {
    if (row.commands.has(command)) text.options.push_back(text_of(row, !is_shared(row)));
  }
  return text;
}

ProgramText describe_collagec() {
  ProgramText text;
  text.name = "collagec";
  text.purpose = "finds the fastest way to run a model over several backends together, compiles it and runs it";
  text.usage = "[COMMAND] MODEL [-r RULES…] [OPTION…]";
  for (const OptionRow& row : request::option_table()) {
    if (row.commands.has(CommandName::Compile)) text.options.push_back(text_of(row, row.is_common));
  }
  add_information(text);
  for (const CommandRow& row : request::command_table()) {
    if (!row.word.empty()) text.commands.push_back(describe(row.name));
  }
  for (const auto& [word, purpose] : kOtherCommands) {
    ProgramText other;
    other.name = word;
    other.purpose = purpose;
    other.usage = "--help";
    text.commands.push_back(std::move(other));
  }
  return text;
}

}  // namespace collage::tools
