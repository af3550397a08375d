// SPDX-License-Identifier: Apache-2.0
// `collage-rules`: one subcommand for each thing that is done with rule files. Exit codes:
// tools/command_line/program_text.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "compiler/passes/phases.h"
#include "compiler/rules_tool/commands.h"
#include "compiler/rules_tool/coverage.h"
#include "compiler/rules_tool/format_files.h"
#include "compiler/rules_tool/list.h"
#include "compiler/rules_tool/lsp/serve.h"
#include "compiler/rules_tool/scaffold.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/support/explain.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/app_text.h"
#include "runtime/tools/command_line/guarded_main.h"

namespace {

using collage::ir::RuleSet;
using collage::support::Diagnostics;
using collage::support::SourceManager;
namespace tool = collage::rules_tool;
using enum collage::tools::ExitCode;

struct Options {
  std::vector<std::string> paths;
  bool only_check = false;
  tool::TestOptions test;
  tool::ReportOptions report;
  std::vector<std::string> backends;
  bool as_json = false;
  std::vector<std::string> models;
  std::string unfired;
  std::string name;
  std::string folder = ".";
  std::string code;
  bool allow_outside = false;
};

int run(int argc, char** argv) {
  CLI::App app("checks, tests, formats and lists rule files", "collage-rules");
  collage::tools::add_text_flags(app);
  app.require_subcommand(0, 1);
  Options options;
  SourceManager sources;
  Diagnostics diags(sources);
  std::function<bool()> run_command;
  app.add_option("--explain", options.code, "explain a diagnostic: CG0301")->type_name("CODE")->group("Help");

  auto add = [&](const char* name, const char* what, std::function<bool()> command) {
    CLI::App* added = app.add_subcommand(name, what);
    added->callback([&run_command, command] { run_command = command; });
    return added;
  };
  auto add_on_files = [&](const char* name, const char* what, std::function<bool()> command) {
    CLI::App* added = add(name, what, std::move(command));
    added->add_option("paths", options.paths, "rule files, or folders of them")->type_name("PATH…")->required();
    added->add_flag("--allow-outside", options.allow_outside, "let them lead to files outside their folders");
    return added;
  };
  // A command on rules that have been read; it prints the diagnostics itself.
  auto add_on_rules = [&](const char* name, const char* what, std::function<bool(const RuleSet&)> command) {
    return add_on_files(name, what, [&, command] {
      std::optional<RuleSet> rules = collage::sema::load_rules(sources, options.paths, diags, options.allow_outside);
      if (rules && collage::passes::check_phases(*rules, diags)) return command(*rules);
      tool::print_unreadable(options.report, diags);
      return false;
    });
  };
  auto with_diagnostics = [&](bool good) {
    std::fflush(stdout);
    collage::support::print(stderr, "{}", diags.render());
    return good;
  };

  CLI::App* check = add_on_rules("check", "reports mistakes, and rules without tests", [&](const RuleSet& rules) {
    return tool::check_rules(sources, rules, options.report, diags);
  });
  CLI::App* test = add_on_rules("test", "runs the tests that stand in the files", [&](const RuleSet& rules) {
    return tool::test_rules(sources, rules, options.test, options.report, diags);
  });
  for (CLI::App* reports : {check, test}) {
    reports->add_flag("--json", options.report.as_json, "print what was found as one JSON document");
    reports->add_flag("--werror", options.report.werror, "fail where there are warnings");
  }
  test->add_option("--rule", options.test.rules, "only the tests of this rule, family or rewrite")->type_name("NAME");
  test->add_option("--junit", options.test.junit, "write the results as JUnit's XML, too")->type_name("FILE");
  test->add_flag("--mutate", options.test.mutate,
                 "require that some test fails when any one `where` is left out, any `<` becomes `<=` or `>=` becomes "
                 "`>`, or arguments of a `lower` are exchanged or left out");
  CLI::App* coverage =
      add_on_rules("coverage", "shows which rules match in a corpus of models", [&](const RuleSet& rules) {
        return with_diagnostics(tool::report_coverage(sources, rules, options.models, options.unfired, diags));
      });
  coverage->add_option("--models", options.models, "models, .ir or .onnx")->type_name("FILE…")->required();
  coverage
      ->add_option("--unfired", options.unfired,
                   "lines `BACKEND RULE: reason`: rules that match nowhere; any other is an error")
      ->type_name("FILE");
  CLI::App* list = add_on_rules("list", "shows what the files say", [&](const RuleSet& rules) {
    return with_diagnostics(tool::list_rules(sources, rules, options.backends, options.as_json, diags));
  });
  list->add_option("--backend", options.backends, "only this one")->type_name("NAME…");
  list->add_flag("--json", options.as_json, "as JSON");
  CLI::App* format = add_on_files("fmt", "formats files in place; `-` reads standard input", [&] {
    const tool::FormatOptions chosen{options.only_check, options.allow_outside};
    return with_diagnostics(tool::format_files(sources, options.paths, chosen, diags));
  });
  format->add_flag("--check", options.only_check, "change nothing; fail where something would change");
  CLI::App* make = add("new", "writes a rule file to start from",
                       [&] { return with_diagnostics(tool::make_backend(options.name, options.folder, diags)); });
  make->add_option("name", options.name, "the name of the backend")->type_name("NAME")->required();
  add("lsp", "serves an editor over standard input and output (language server protocol)",
      [&] { return with_diagnostics(tool::lsp::serve(std::cin, std::cout, diags)); });
  make->add_option("--dir", options.folder, "where to put it")->type_name("FOLDER");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  if (!options.code.empty()) return collage::support::explain(options.code) ? kSuccess : kWrongUsage;
  if (!run_command) {
    collage::support::print(
        stderr, "error: a command is needed: `collage-rules check PATH…`\nRun with --help for more information.\n");
    return kWrongUsage;
  }
  return run_command() ? kSuccess : kInputError;
}

}  // namespace

int main(int argc, char** argv) {
  return collage::tools::guarded_main("collage-rules", [&] { return run(argc, argv); });
}
