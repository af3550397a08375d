// SPDX-License-Identifier: Apache-2.0
// Runs the tests that stand in rule files: `collage-rules test`.
//
// `test ok … -> {nodes}` holds if some match of the rule has exactly these nodes; `test no … because "text"` if there
// is no match and the message of the first failing clause contains the text. That is the clause at which the attempt
// ended that took most operators. A family's test holds if it does for the family as a whole: some member matches, or
// none does. Where the kernel of a match has `semantics`, what its lowering asks for also computes what the model does.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

struct TestResult {
  support::Span span;
  bool expects_match = true;
  bool passed = false;
  std::string message;  ///< of the failure: the first error, and its notes
};

struct RuleTestOutcome {
  std::string backend;
  std::string rule;  ///< the family's name, or `rewrite` and that of the rewrite
  int passed = 0;
  int failed = 0;
  std::vector<TestResult> tests{};
  std::set<std::pair<int, int>> kernels{};  ///< index of rule and kernel: those that run some match
  std::set<uint32_t> denials{};             ///< where the `deny`s stand that refuse some match

  void add(TestResult result);
};

/// Runs `test`, and keeps what it reports as the message of a failure.
TestResult result_of(const ir::RuleTest& test, support::Diagnostics& diags, const std::function<bool()>& run);

/// The tests of one rule or family, their models built once.
class RuleTests {
 public:
  /// `first`: index of the family's first member. What is wrong in a test's model is reported.
  RuleTests(support::SourceManager& sources, const ir::Backend& backend, size_t first, support::Diagnostics& diags);

  /// Members are [first(), end()) of the backend's rules.
  size_t first() const { return first_; }
  size_t end() const { return end_; }

  /// Holds the tests against `backend`, or a copy of it with other clauses. What fails is reported.
  RuleTestOutcome run(const ir::Backend& backend, support::Diagnostics& diags) const;
  /// Does test `index` hold? If not, `diags` says why. `outcome`, where given, gets the kernels and denials that took
  /// part; then lowerings are run, too (semantics_tests.h).
  bool holds(size_t index, const ir::Backend& backend, support::Diagnostics& diags,
             RuleTestOutcome* outcome = nullptr) const;

 private:
  size_t first_;
  size_t end_;
  std::vector<std::optional<ir::Graph>> models_;  ///< one per test; nullopt if it is malformed
};

/// Builds the models of all tests and looks for the nodes that they name, without running them. What is wrong is
/// reported.
void check_test_models(support::SourceManager& sources, const ir::RuleSet& rules, support::Diagnostics& diags);

/// Names of rules, families and rewrites; empty: all of them.
using RuleFilter = std::vector<std::string>;
bool passes(const RuleFilter& filter, const std::string& name);

/// One entry per rule or family that has tests, in file order. What fails is reported.
std::vector<RuleTestOutcome> run_rule_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                            const RuleFilter& filter, support::Diagnostics& diags);

}  // namespace collage::rules_tool
