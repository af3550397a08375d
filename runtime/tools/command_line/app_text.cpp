// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/app_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include "include/collage/version.h"
#include "runtime/support/print.h"

namespace collage::tools {
namespace {

constexpr const char* kHelpGroup = "Help";

/// `UINT:INT in [1 - 256]` => `UINT`: help says in words what values there are.
std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));
}

/// `FILE…`: what it is called in a usage line.
std::string positional_name(const CLI::Option& option) {
  constexpr const char* kUsual[] = {"", "TEXT", "INT", "UINT", "FLOAT"};
  std::string name = value_name(option);
  if (std::find(std::begin(kUsual), std::end(kUsual), name) == std::end(kUsual)) return name;
  name = option.get_name(true);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const bool is_positional = text.names.empty();
  if (is_positional) text.names.push_back(positional_name(option));
  if (!is_positional && option.get_items_expected_max() > 0) text.value = value_name(option);
  text.help = option.get_description();
  text.initial = option.get_default_str();
  text.group = is_positional ? "Arguments" : option.get_group();
  return text;
}

/// Prints and ends the parse, as `--version` does.
void add_printing_flag(CLI::App& app, const std::string& name, std::string (*print)(const ProgramText&)) {
  app.add_flag_callback(
         name,
         [&app, print] {
           support::print("{}", print(describe(app)));
           throw CLI::Success();
         },
         "")
      ->group("");
}

}  // namespace

ProgramText describe(const CLI::App& app) {
  ProgramText text;
  text.name = app.get_name();
  text.purpose = app.get_description();
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); })) {
    text.options.push_back(option_text(*option));
    if (option == app.get_help_ptr()) text.options.back().group = kHelpGroup;
    if (option->get_positional()) text.usage += positional_name(*option) + " ";
  }
  // Arguments come first, help last.
  const auto rank = [](const OptionText& option) {
    return option.group == kHelpGroup ? 2 : option.names.front().starts_with('-') ? 1 : 0;
  };
  std::stable_sort(text.options.begin(), text.options.end(),
                   [&](const OptionText& a, const OptionText& b) { return rank(a) < rank(b); });
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    text.commands.push_back(describe(*command));
  }
  if (!text.commands.empty()) text.usage += "COMMAND ";
  text.usage += "[OPTION…]";
  return text;
}

void use_help_text(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this")->group(kHelpGroup);
  app.formatter_fn([](const CLI::App* asked, const std::string&, CLI::AppFormatMode) {
    const CLI::App* whole = asked->get_parent();
    return whole == nullptr ? help_text(describe(*asked), false) : command_help(describe(*whole), describe(*asked));
  });
}

void add_text_flags(CLI::App& app) {
  use_help_text(app);
  app.set_version_flag("--version", app.get_name() + " " COLLAGE_VERSION, "print the version")->group(kHelpGroup);
  add_printing_flag(app, "--man", man_page);
  add_printing_flag(app, "--bash-completion", bash_completion);
}

}  // namespace collage::tools
