// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/backends_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "compiler/report/backends_json.h"
#include "compiler/request/rule_files.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/app_text.h"

namespace collage::tools {
namespace {

using request::BackendInfo;

void print_table(const std::vector<BackendInfo>& list) {
  size_t name = 0, runs_by = 0;
  for (const BackendInfo& one : list) {
    name = std::max(name, one.name.size());
    runs_by = std::max(runs_by, one.runs_by.size());
  }
  for (const BackendInfo& one : list) {
    support::print("{:<{}}  {:<15}  {:<{}}  {:>3} {:<5}  {}\n", one.name, name, name_of(one.kind), one.runs_by, runs_by,
                   one.rules, one.rules == 1 ? "rule" : "rules", one.file);
    if (!one.reason.empty()) support::print("{:<{}}  {}\n", "", name, one.reason);
  }
}

}  // namespace

int run_backends_command(int argc, char** argv) {
  CLI::App app("lists the backends of rule files: which run on this machine, and which are models of chips",
               "collagec backends");
  std::vector<std::string> paths;
  request::CodePermission permission;
  bool prints_json = false;
  use_help_text(app);
  app.add_option("-r,--rules", paths, "rule files, or folders of them; else those beside the program")
      ->type_name("PATH…");
  app.add_flag("--allow-code", permission.plugins, "load the plug-ins that rule files name");
  app.add_flag("--allow-outside", permission.outside, "let rule files lead to files outside their folders");
  app.add_flag("--json", prints_json, "as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  permission.cost_programs = permission.plugins;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  if (paths.empty()) paths = request::default_rules();
  const auto rules = request::read_rule_files(paths, sources, diags, permission.outside);
  std::vector<BackendInfo> list;
  if (rules != nullptr) list = request::list_backends(rules->rules, permission, diags);
  support::print(stderr, "{}", diags.render());
  if (diags.has_errors()) return kInputError;
  if (prints_json) {
    support::print("{}", report::to_json(list));
  } else {
    print_table(list);
  }
  return kSuccess;
}

}  // namespace collage::tools
