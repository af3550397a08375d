// SPDX-License-Identifier: Apache-2.0
// `collage-rules`: checks, tests and lists rule files. Exit codes: 0 done, 1 the input is at fault, 2 wrong usage, 3 a
// fault of ours.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "compiler/rules_tool/format_files.h"
#include "compiler/rules_tool/rule_tests.h"
#include "compiler/sema/build_rules.h"

namespace {

using collage::ir::Backend;
using collage::ir::RuleSet;
using collage::support::Diagnostics;
using collage::support::SourceManager;

constexpr int kInputAtFault = 1;
constexpr int kWrongUsage = 2;
constexpr int kOurFault = 3;

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

size_t test_count(const Backend& backend) {
  size_t count = 0;
  for (size_t i = 0; i < backend.rules.size(); ++i) {
    bool is_first = i == 0 || backend.rules[i].family != backend.rules[i - 1].family;
    if (is_first) count += backend.rules[i].tests.size();
  }
  return count;
}

int check(const RuleSet& rules, Diagnostics& diags) {
  collage::sema::lint_rules(rules, diags);
  size_t rule_count = 0;
  size_t tests = 0;
  for (const Backend& backend : rules.backends) {
    rule_count += backend.rules.size();
    tests += test_count(backend);
  }
  fmt::print(stderr, "{}", diags.render());
  fmt::print("{}, {}, {}\n", counted(rules.backends.size(), "backend"), counted(rule_count, "rule"),
             counted(tests, "test"));
  return 0;
}

int test(SourceManager& sources, const RuleSet& rules, Diagnostics& diags) {
  int passed = 0;
  int failed = 0;
  for (const auto& outcome : collage::rules_tool::run_rule_tests(sources, rules, diags)) {
    fmt::print("{:<7} {} {}\n", outcome.failed == 0 ? "ok" : "FAILED", outcome.backend, outcome.rule);
    passed += outcome.passed;
    failed += outcome.failed;
  }
  std::fflush(stdout);
  fmt::print(stderr, "{}", diags.render());
  std::fflush(stderr);
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : kInputAtFault;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

int list(const RuleSet& rules, bool as_json) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Backend& backend : rules.backends) {
    nlohmann::ordered_json entry = {{"backend", backend.name},
                                    {"version", backend.version},
                                    {"file", backend.file},
                                    {"instances", backend.instances()},
                                    {"rules", nlohmann::json::array()}};
    for (const auto& rule : backend.rules) entry["rules"].push_back(rule.name);
    json.push_back(std::move(entry));
    if (as_json) continue;
    fmt::print("{} version {} on {}\n", backend.name, backend.version, joined(backend.instances()));
    for (const auto& rule : backend.rules) fmt::print("  {}\n", rule.name);
  }
  if (as_json) fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Checks, tests and lists rule files.", "collage-rules");
  app.require_subcommand(1);
  std::vector<std::string> paths;
  bool as_json = false;
  bool only_check = false;
  auto add = [&](const char* name, const char* what) {
    CLI::App* command = app.add_subcommand(name, what);
    command->add_option("paths", paths, "Rule files, or folders of them")->required();
    return command;
  };
  CLI::App* check_command = add("check", "Report mistakes, and rules without tests");
  CLI::App* test_command = add("test", "Run the tests that stand in the files");
  CLI::App* list_command = add("list", "Show backends and rules");
  list_command->add_flag("--json", as_json, "As JSON");
  CLI::App* fmt_command = add("fmt", "Format files in place; `-` reads standard input");
  fmt_command->add_flag("--check", only_check, "Change nothing; fail where something would change");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }

  SourceManager sources;
  Diagnostics diags(sources);
  if (fmt_command->parsed()) {
    bool good = collage::rules_tool::format_files(sources, paths, only_check, diags);
    std::fflush(stdout);
    fmt::print(stderr, "{}", diags.render());
    return good ? 0 : kInputAtFault;
  }
  std::optional<RuleSet> rules = collage::sema::load_rules(sources, paths, diags);
  if (!rules) {
    fmt::print(stderr, "{}", diags.render());
    size_t count = diags.error_count();
    fmt::print(stderr, "{} error{}\n", count, count == 1 ? "" : "s");
    return kInputAtFault;
  }
  if (check_command->parsed()) return check(*rules, diags);
  if (test_command->parsed()) return test(sources, *rules, diags);
  fmt::print(stderr, "{}", diags.render());
  return list(*rules, as_json);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return kInputAtFault;
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: {}\nThis is a fault of collage-rules, not of its input; please report it.\n",
               error.what());
    return kOurFault;
  }
}
