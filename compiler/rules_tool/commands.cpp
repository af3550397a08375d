// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/lint/lint.h"
#include "compiler/rules_tool/mutate.h"
#include "compiler/rules_tool/report.h"
#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/core/text.h"
#include "runtime/support/print.h"
#include "runtime/support/write_file.h"

namespace collage::rules_tool {
namespace {

using runtime::counted;

size_t test_count(const ir::Backend& backend) {
  size_t count = 0;
  for (size_t i = 0; i < backend.rules.size(); ++i) {
    bool is_first = i == 0 || backend.rules[i].family != backend.rules[i - 1].family;
    if (is_first) count += backend.rules[i].tests.size();
  }
  for (const ir::Rewrite& rewrite : backend.rewrites) count += rewrite.from.tests.size();
  return count;
}

void print_json(const nlohmann::ordered_json& document) {
  support::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// False, and a line that says so, where there are warnings and they count.
bool warnings_pass(const ReportOptions& report, const support::Diagnostics& diags) {
  auto is_warning = [](const auto& record) { return record.severity == support::Severity::Warning; };
  auto warnings = static_cast<size_t>(std::count_if(diags.records().begin(), diags.records().end(), is_warning));
  if (!report.werror || warnings == 0) return true;
  std::fflush(stdout);
  support::print(stderr, "{}, which --werror makes errors\n", counted(warnings, "warning"));
  return false;
}

/// A filter names what exists.
bool check_filter(const ir::RuleSet& rules, const RuleFilter& filter, support::Diagnostics& diags) {
  std::vector<std::string> known;
  for (const ir::Backend& backend : rules.backends) {
    for (const ir::Rule& rule : backend.rules) known.push_back(rule.family);
    for (const ir::Rewrite& rewrite : backend.rewrites) known.push_back(rewrite.name);
  }
  bool ok = true;
  for (const std::string& name : filter) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    ok = diags.error_at(support::Code::BadOption, "--rule", "there is no rule or rewrite `{}`", name)
             .did_you_mean(support::closest(name, known));
  }
  return ok;
}

/// What the tests let run: kernels of rules that have several, and denials.
struct TestCoverage {
  size_t kernels = 0, denials = 0;
  std::vector<std::string> kernels_left, denials_left;
};

TestCoverage coverage_of(const support::SourceManager& sources, const ir::RuleSet& rules, const RuleFilter& filter,
                         const std::vector<RuleTestOutcome>& outcomes) {
  TestCoverage coverage;
  for (const ir::Backend& backend : rules.backends) {
    std::set<std::pair<std::string, std::string>> run, all;  // family and kernel: members share their tests
    std::set<uint32_t> denied;
    for (size_t r = 0; r < backend.rules.size(); ++r) {
      const ir::Rule& rule = backend.rules[r];
      if (rule.kernels.size() < 2 || !passes(filter, rule.family)) continue;
      for (const ir::Kernel& kernel : rule.kernels) all.emplace(rule.family, kernel.name);
    }
    for (const RuleTestOutcome& outcome : outcomes) {
      if (outcome.backend != backend.name) continue;
      denied.insert(outcome.denials.begin(), outcome.denials.end());
      for (auto [r, k] : outcome.kernels) {
        const ir::Rule& rule = backend.rules[static_cast<size_t>(r)];
        run.emplace(rule.family, rule.kernels[static_cast<size_t>(k)].name);
      }
    }
    coverage.kernels += all.size();
    for (const auto& [family, kernel] : all) {
      if (run.count({family, kernel}) == 0)
        coverage.kernels_left.push_back(fmt::format("{} {}:{}", backend.name, family, kernel));
    }
    if (!filter.empty()) continue;
    for (const ir::Deny& deny : backend.denies) {
      if (deny.asks_machine()) continue;
      ++coverage.denials;
      if (denied.count(deny.span.begin) != 0) continue;
      coverage.denials_left.push_back(
          fmt::format("{} deny in line {}", backend.name, sources.position(deny.span.file, deny.span.begin).line));
    }
  }
  return coverage;
}

void print_coverage(std::string_view what, size_t all, const std::vector<std::string>& left) {
  if (all == 0) return;
  support::print("{} of {} take part in some test{}{}\n", all - left.size(), counted(all, what),
                 left.empty() ? "" : ": not ", fmt::join(left, ", "));
}

}  // namespace

bool check_rules(support::SourceManager& sources, const ir::RuleSet& rules, const ReportOptions& report,
                 support::Diagnostics& diags) {
  lint::lint(rules, diags);
  check_test_models(sources, rules, diags);
  size_t rule_count = 0;
  size_t tests = 0;
  for (const ir::Backend& backend : rules.backends) {
    rule_count += backend.rules.size();
    tests += test_count(backend);
  }
  if (report.as_json) {
    print_json({{"backends", rules.backends.size()},
                {"rules", rule_count},
                {"tests", tests},
                {"diagnostics", diagnostics_json(diags)}});
  } else {
    support::print(stderr, "{}", diags.render());
    support::print("{}, {}, {}\n", counted(rules.backends.size(), "backend"), counted(rule_count, "rule"),
                   counted(tests, "test"));
  }
  return warnings_pass(report, diags) && !diags.has_errors();
}

void print_unreadable(const ReportOptions& report, const support::Diagnostics& diags) {
  if (report.as_json) {
    print_json({{"diagnostics", diagnostics_json(diags)}});
    return;
  }
  support::print(stderr, "{}{}\n", diags.render(), counted(diags.error_count(), "error"));
}

bool test_rules(support::SourceManager& sources, const ir::RuleSet& rules, const TestOptions& options,
                const ReportOptions& report, support::Diagnostics& diags) {
  if (!check_filter(rules, options.rules, diags)) {
    print_unreadable(report, diags);
    return false;
  }
  std::vector<RuleTestOutcome> outcomes = run_rule_tests(sources, rules, options.rules, diags);
  for (RuleTestOutcome& outcome : run_rewrite_tests(sources, rules, options.rules, diags)) {
    outcomes.push_back(std::move(outcome));
  }
  int passed = 0;
  int failed = 0;
  for (const RuleTestOutcome& outcome : outcomes) {
    if (!report.as_json) {
      support::print("{:<7} {} {}\n", outcome.failed == 0 ? "ok" : "FAILED", outcome.backend, outcome.rule);
    }
    passed += outcome.passed;
    failed += outcome.failed;
  }
  const bool mutates = options.mutate && failed == 0;
  MutationOutcome mutation;
  if (mutates) mutation = mutate_rules(sources, rules, options.rules, diags);
  if (!options.junit.empty() && !support::write_file(options.junit, junit_text(sources, outcomes), diags)) ++failed;
  const TestCoverage coverage = coverage_of(sources, rules, options.rules, outcomes);
  if (report.as_json) {
    nlohmann::ordered_json document = {
        {"tests", tests_json(sources, outcomes)}, {"passed", passed}, {"failed", failed}};
    if (mutates) document["mutations"] = {{"tried", mutation.tried}, {"unnoticed", mutation.unnoticed}};
    document["kernels"] = {{"all", coverage.kernels}, {"untested", coverage.kernels_left}};
    document["denials"] = {{"all", coverage.denials}, {"untested", coverage.denials_left}};
    document["diagnostics"] = diagnostics_json(diags);
    print_json(document);
    return failed == 0 && mutation.unnoticed == 0 && warnings_pass(report, diags);
  }
  std::fflush(stdout);
  support::print(stderr, "{}", diags.render());
  std::fflush(stderr);
  support::print("{} passed, {} failed\n", passed, failed);
  print_coverage("kernel", coverage.kernels, coverage.kernels_left);
  print_coverage("denial", coverage.denials, coverage.denials_left);
  if (mutates) {
    support::print("{} tried, {} not noticed by any test\n", counted(mutation.tried, "mutation"), mutation.unnoticed);
  } else if (options.mutate) {
    support::print("no mutation tried: these need tests that pass\n");
  }
  return failed == 0 && mutation.unnoticed == 0 && warnings_pass(report, diags);
}

}  // namespace collage::rules_tool
