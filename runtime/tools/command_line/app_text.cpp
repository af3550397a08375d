// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/app_text.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "include/collage/version.h"

namespace collage::tools {
namespace {

OptionText option_text(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (text.names.empty()) text.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) text.value = option.get_type_name();
  text.help = option.get_description();
  text.initial = option.get_default_str();
  text.group = "Options";
  return text;
}

/// Prints and ends the parse, as `--version` does.
void add_printing_flag(CLI::App& app, const std::string& name, std::string (*print)(const ProgramText&)) {
  app.add_flag_callback(
         name,
         [&app, print] {
           fmt::print("{}", print(describe(app)));
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
    if (option->get_positional()) text.usage += option->get_name(true) + " ";
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    text.commands.push_back(describe(*command));
  }
  if (!text.commands.empty()) text.usage += "COMMAND ";
  text.usage += "[OPTION…]";
  return text;
}

void add_text_flags(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " COLLAGE_VERSION);
  add_printing_flag(app, "--man", man_page);
  add_printing_flag(app, "--bash-completion", bash_completion);
}

}  // namespace collage::tools
