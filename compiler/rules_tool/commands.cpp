// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/commands.h"

#include "compiler/lint/lint.h"
#include "compiler/rules_tool/mutate.h"
#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"
#include "compiler/sema/build_rules.h"

namespace collage::rules_tool {
namespace {

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

size_t test_count(const ir::Backend& backend) {
  size_t count = 0;
  for (size_t i = 0; i < backend.rules.size(); ++i) {
    bool is_first = i == 0 || backend.rules[i].family != backend.rules[i - 1].family;
    if (is_first) count += backend.rules[i].tests.size();
  }
  for (const ir::Rewrite& rewrite : backend.rewrites) count += rewrite.from.tests.size();
  return count;
}

}  // namespace

void check_rules(const ir::RuleSet& rules, support::Diagnostics& diags) {
  lint::lint(rules, diags);
  size_t rule_count = 0;
  size_t tests = 0;
  for (const ir::Backend& backend : rules.backends) {
    rule_count += backend.rules.size();
    tests += test_count(backend);
  }
  fmt::print(stderr, "{}", diags.render());
  fmt::print("{}, {}, {}\n", counted(rules.backends.size(), "backend"), counted(rule_count, "rule"),
             counted(tests, "test"));
}

bool test_rules(support::SourceManager& sources, const ir::RuleSet& rules, const TestOptions& options,
                support::Diagnostics& diags) {
  int passed = 0;
  int failed = 0;
  std::vector<RuleTestOutcome> outcomes = run_rule_tests(sources, rules, diags);
  for (RuleTestOutcome& outcome : run_rewrite_tests(sources, rules, diags)) outcomes.push_back(std::move(outcome));
  for (const RuleTestOutcome& outcome : outcomes) {
    fmt::print("{:<7} {} {}\n", outcome.failed == 0 ? "ok" : "FAILED", outcome.backend, outcome.rule);
    passed += outcome.passed;
    failed += outcome.failed;
  }
  bool mutates = (options.mutate || options.bounds) && failed == 0;
  MutationOutcome mutation;
  if (mutates) mutation = mutate_rules(sources, rules, options.bounds, diags);
  std::fflush(stdout);
  fmt::print(stderr, "{}", diags.render());
  std::fflush(stderr);
  fmt::print("{} passed, {} failed\n", passed, failed);
  if (mutates) {
    fmt::print("{} tried, {} not noticed by any test\n", counted(static_cast<size_t>(mutation.tried), "mutation"),
               mutation.unnoticed);
  }
  return failed == 0 && mutation.unnoticed == 0;
}

}  // namespace collage::rules_tool
