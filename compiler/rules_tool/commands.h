// SPDX-License-Identifier: Apache-2.0
// What `collage-rules check` and `collage-rules test` print about rules that were read.
#pragma once

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

/// How results are given.
struct ReportOptions {
  bool as_json = false;
  bool werror = false;  ///< a warning makes the command fail
};

/// Prints warnings, and a line that counts what there is. False if a warning counts as an error.
bool check_rules(support::SourceManager& sources, const ir::RuleSet& rules, const ReportOptions& report,
                 support::Diagnostics& diags);

/// What stands for both where the files could not be read.
void print_unreadable(const ReportOptions& report, const support::Diagnostics& diags);

struct TestOptions {
  bool mutate = false;               ///< each mistake of mutate.h, made in turn, must make some test fail
  std::vector<std::string> rules{};  ///< names of rules, families and rewrites; empty: all
  std::string junit{};               ///< file for JUnit's XML; empty: none
};

/// False if a test fails, or none does where one should.
bool test_rules(support::SourceManager& sources, const ir::RuleSet& rules, const TestOptions& options,
                const ReportOptions& report, support::Diagnostics& diags);

}  // namespace collage::rules_tool
