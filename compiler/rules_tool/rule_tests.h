// SPDX-License-Identifier: Apache-2.0
// Runs the tests that stand in rule files: `collage-rules test`.
//
// `test ok … -> {nodes}` holds if some match of the rule has exactly these nodes; `test no … because "text"` if there
// is no match and the message of the first failing clause contains the text. That is the clause at which the attempt
// ended that took most operators. A family's test holds if it does for the family as a whole: some member matches, or
// none does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rule_set.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/source_manager.h"

namespace collage::rules_tool {

struct RuleTestOutcome {
  std::string backend;
  std::string rule;  ///< the family's name
  int passed = 0;
  int failed = 0;
};

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
  /// Does test `index` hold? If not, `diags` says why.
  bool holds(size_t index, const ir::Backend& backend, support::Diagnostics& diags) const;

 private:
  size_t first_;
  size_t end_;
  std::vector<std::optional<ir::Graph>> models_;  ///< one per test; nullopt if it is malformed
};

/// One entry per rule or family that has tests, in file order. What fails is reported.
std::vector<RuleTestOutcome> run_rule_tests(support::SourceManager& sources, const ir::RuleSet& rules,
                                            support::Diagnostics& diags);

}  // namespace collage::rules_tool
